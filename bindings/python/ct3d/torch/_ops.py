# SPDX-License-Identifier: MIT
"""torch.ops.ct3d: the operation and its gradients as operators of PyTorch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import _autograd, _kernels
from ._geometry import Geometry, geometry, input_extents, kernel_extents, output_extents
from ._plans import format_of, is_channels_last

_NUMBERS = "SymInt[3] stride, SymInt[3] padding, SymInt[3] output_padding, SymInt groups, SymInt[3] dilation, bool tf32"
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
_library = torch.library.Library("ct3d", "DEF")  # type: ignore[no-untyped-call]


def _empty(like: Tensor, shape: list[int], channels_last: bool) -> Tensor:
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=format_of(channels_last))


def _fake_conv_transpose3d(x: Tensor, w: Tensor, bias: Tensor | None, *numbers: Any) -> Tensor:
    g = Geometry(*numbers)
    shape = [x.shape[0], w.shape[1] * g.groups, *output_extents(x.shape[2:], w.shape[2:], g)]
    return _empty(x, shape, is_channels_last(x))


def _fake_input_grad(dy: Tensor, w: Tensor, *numbers: Any) -> Tensor:
    shape = [dy.shape[0], w.shape[0], *input_extents(dy.shape[2:], w.shape[2:], Geometry(*numbers))]
    return _empty(dy, shape, is_channels_last(dy))


def _fake_weight_grad(x: Tensor, dy: Tensor, *numbers: Any) -> Tensor:
    g = Geometry(*numbers)
    return _empty(x, [x.shape[1], dy.shape[1] // g.groups, *kernel_extents(x.shape[2:], dy.shape[2:], g)], False)


def _register(
    name: str,
    tensors: str,
    kernel: Callable[..., Tensor],
    fake: Callable[..., Tensor],
    backward: Callable[..., tuple[Tensor | None, ...]],
) -> None:
    def run(*arguments: Any) -> Tensor:
        return kernel(*arguments[:-6], geometry(*arguments[-6:]))

    def remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _autograd.remember(ctx, inputs[0], inputs[1], geometry(*inputs[-6:]))

    def differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return *backward(ctx, gradient), *(None,) * 5

    _library.define(f"{name}({tensors}, {_NUMBERS}) -> Tensor", tags=_TAGS)  # type: ignore[no-untyped-call]
    for key in ("CPU", "CUDA"):
        _library.impl(name, run, key)  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"ct3d::{name}", fake, lib=_library)
    torch.library.register_autograd(f"ct3d::{name}", differentiate, setup_context=remember, lib=_library)


_register(
    "conv_transpose3d",
    "Tensor input, Tensor weight, Tensor? bias",
    _kernels.conv_transpose3d,
    _fake_conv_transpose3d,
    _autograd.conv_transpose3d_backward,
)
_register(
    "conv_transpose3d_input_grad",
    "Tensor grad_output, Tensor weight",
    _kernels.input_grad,
    _fake_input_grad,
    _autograd.input_grad_backward,
)
_register(
    "conv_transpose3d_weight_grad",
    "Tensor input, Tensor grad_output",
    _kernels.weight_grad,
    _fake_weight_grad,
    _autograd.weight_grad_backward,
)
