# SPDX-License-Identifier: MIT
"""torch.nn.functional.conv_transpose3d, computed by ct3d."""

from __future__ import annotations

from typing import Literal, Union

import torch
from torch import Tensor

from . import _autograd, _ops  # noqa: F401  (the operators are registered by being imported)
from ._geometry import IntOr3, geometry

TF32 = Union[bool, Literal["cudnn"]]


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOr3 = 1,
    padding: IntOr3 = 0,
    output_padding: IntOr3 = 0,
    groups: int = 1,
    dilation: IntOr3 = 1,
    *,
    allow_tf32: TF32 = False,
) -> Tensor:
    """The transposed convolution, as torch.nn.functional.conv_transpose3d, with the same arguments and derivatives.

    It runs on the device of the tensors and on its current stream. An input in torch.channels_last_3d gives an output
    in it; tensors that are not dense are copied. float32, float16, bfloat16 and float64. Under torch.func and
    forward-mode differentiation PyTorch's own operator computes, in its own precision.

    Args:
        input: (N, Cin, D, H, W) or (Cin, D, H, W).
        weight: (Cin, Cout/groups, kD, kH, kW).
        bias: (Cout,), or None.
        stride, padding, output_padding, dilation: an integer, or three for depth, height and width.
        groups: the number of groups, which divides Cin and Cout.
        allow_tf32: whether operands in float32 may be rounded to 11 bits; "cudnn" follows
            torch.backends.cudnn.allow_tf32.

    Raises:
        TypeError, ValueError: types, shapes, devices or numbers break a rule; the message names the argument.
        ct3d.Unsupported, ct3d.OutOfMemory, ct3d.DeviceError: as the library says.
    """
    device = input.device.type
    if device != "meta" and torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        input, weight, bias = _cast(input, dtype), _cast(weight, dtype), None if bias is None else _cast(bias, dtype)
    if _transformed():
        return torch.nn.functional.conv_transpose3d(
            input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    if input.dim() == 4:
        return conv_transpose3d(
            input.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation, allow_tf32=allow_tf32
        ).squeeze(0)
    tf32 = torch.backends.cudnn.allow_tf32 if allow_tf32 == "cudnn" else allow_tf32
    return _autograd.conv_transpose3d(
        input, weight, bias, geometry(stride, padding, output_padding, groups, dilation, tf32)
    )


def _transformed() -> bool:
    """Whether torch.func or forward-mode differentiation is at work, which ct3d's operators have no rules for."""
    return not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0
    )


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """As autocast does for convolutions, which leaves float64 alone."""
    return tensor if tensor.dtype == torch.float64 or not tensor.is_floating_point() else tensor.to(dtype)
