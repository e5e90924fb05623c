# SPDX-License-Identifier: MIT
"""PyTorch's own gradients, for backends of ct3d that have none, in the precision that ct3d was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ._geometry import Geometry, input_extents, kernel_extents
from ._plans import format_of, is_channels_last


def input_grad(dy: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    shape = (dy.shape[0], w.shape[0], *input_extents(dy.shape[2:], w.shape[2:], geometry))
    dx = _backward(dy, _placeholder(dy, shape), w, geometry, 0)
    return dx.contiguous(memory_format=format_of(is_channels_last(dy)))


def weight_grad(x: Tensor, dy: Tensor, geometry: Geometry) -> Tensor:
    kernel = kernel_extents(x.shape[2:], dy.shape[2:], geometry)
    shape = (x.shape[1], dy.shape[1] // geometry.groups, *kernel)
    return _backward(dy, x, _placeholder(x, shape), geometry, 1).contiguous()


def _placeholder(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """In place of the tensor whose gradient is asked for, of which only shape and memory format count."""
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=format_of(is_channels_last(like)))


def _backward(dy: Tensor, x: Tensor, w: Tensor, g: Geometry, which: int) -> Tensor:
    mask = [which == 0, which == 1, False]
    with _tf32(g.tf32):
        gradients = torch.ops.aten.convolution_backward(
            dy, x, w, None, g.stride, g.padding, g.dilation, True, g.output_padding, g.groups, mask
        )
    result: Tensor = gradients[which]
    return result


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    settings = torch.backends.cudnn.conv  # type: ignore[attr-defined]
    before = settings.fp32_precision
    if (before == "tf32") == allowed:
        yield
        return
    settings.fp32_precision = "tf32" if allowed else "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before
