# SPDX-License-Identifier: MIT
"""The operation and its gradients, differentiable any number of times: each derivative is one of them again.

Plain tensors go straight to the kernels. The dispatcher takes over where something watches or wraps tensors:
compilation, export, fake tensors, subclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import _kernels
from ._geometry import Geometry
from ._sharding import register_shardings

_PLAIN = (Tensor, torch.nn.Parameter)


def conv_transpose3d(x: Tensor, w: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
    if not _direct(x, w, bias):
        if not torch.compiler.is_compiling():
            register_shardings()
        return torch.ops.ct3d.conv_transpose3d.default(x, w, bias, *geometry)  # type: ignore[no-any-return]
    if torch.is_grad_enabled() and (x.requires_grad or w.requires_grad or bias is not None and bias.requires_grad):
        return _Convolution.apply(x, w, bias, geometry)  # type: ignore[no-any-return, no-untyped-call]
    return _kernels.conv_transpose3d(x, w, bias, geometry)


def input_grad(dy: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    if not _direct(dy, w, None):
        return torch.ops.ct3d.conv_transpose3d_input_grad.default(dy, w, *geometry)  # type: ignore[no-any-return]
    if torch.is_grad_enabled() and (dy.requires_grad or w.requires_grad):
        return _InputGrad.apply(dy, w, geometry)  # type: ignore[no-any-return, no-untyped-call]
    return _kernels.input_grad(dy, w, geometry)


def weight_grad(x: Tensor, dy: Tensor, geometry: Geometry) -> Tensor:
    if not _direct(x, dy, None):
        return torch.ops.ct3d.conv_transpose3d_weight_grad.default(x, dy, *geometry)  # type: ignore[no-any-return]
    if torch.is_grad_enabled() and (x.requires_grad or dy.requires_grad):
        return _WeightGrad.apply(x, dy, geometry)  # type: ignore[no-any-return, no-untyped-call]
    return _kernels.weight_grad(x, dy, geometry)


def _direct(a: Tensor, b: Tensor, bias: Tensor | None) -> bool:
    return (
        not torch.compiler.is_compiling()
        and type(a) in _PLAIN
        and type(b) in _PLAIN
        and (bias is None or type(bias) in _PLAIN)
        and (a.is_cpu or a.is_cuda)
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._get_tracing_state()
    )


def remember(ctx: Any, a: Tensor, b: Tensor, geometry: Geometry) -> None:
    ctx.save_for_backward(a, b)
    ctx.geometry = geometry


def conv_transpose3d_backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
    x, w = ctx.saved_tensors
    for_x, for_w, for_bias = ctx.needs_input_grad[:3]
    return (
        input_grad(dy, w, ctx.geometry) if for_x else None,
        weight_grad(x, dy, ctx.geometry) if for_w else None,
        dy.sum((0, 2, 3, 4)) if for_bias else None,
        None,
    )


def input_grad_backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    dy, w = ctx.saved_tensors
    for_dy, for_w = ctx.needs_input_grad[:2]
    return (
        conv_transpose3d(g, w, None, ctx.geometry) if for_dy else None,
        weight_grad(g, dy, ctx.geometry) if for_w else None,
        None,
    )


def weight_grad_backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    x, dy = ctx.saved_tensors
    for_x, for_dy = ctx.needs_input_grad[:2]
    return (
        input_grad(dy, g, ctx.geometry) if for_x else None,
        conv_transpose3d(x, g, None, ctx.geometry) if for_dy else None,
        None,
    )


def _function(
    name: str, kernel: Callable[..., Tensor], backward: Callable[..., tuple[Tensor | None, ...]]
) -> type[torch.autograd.Function]:
    # A setup_context of its own would cost over ten times what the rest of a call does.
    def forward(ctx: Any, a: Tensor, b: Tensor, *rest: Any) -> Tensor:
        remember(ctx, a, b, rest[-1])
        return kernel(a, b, *rest)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), members)


_Convolution = _function("Ct3dConvTranspose3d", _kernels.conv_transpose3d, conv_transpose3d_backward)
_InputGrad = _function("Ct3dInputGrad", _kernels.input_grad, input_grad_backward)
_WeightGrad = _function("Ct3dWeightGrad", _kernels.weight_grad, weight_grad_backward)
