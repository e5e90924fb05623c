# SPDX-License-Identifier: MIT
"""From shapes, types and devices of tensors to a plan and the shape of the result, checked once and cached."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from .._errors import Unsupported
from .._plans import CACHED_PLANS, Plan, plan
from .._problem import Problem, integer, triple
from .._structs import LAYOUT, MATH, WEIGHTS_LAYOUT, Backend, CBuffers, DType, Op
from ._geometry import Geometry, input_extents, kernel_extents

_DTYPES = {
    torch.float32: DType.F32,
    torch.float16: DType.F16,
    torch.bfloat16: DType.BF16,
    torch.float64: DType.F64,
}
_GPU = Backend.HIP if torch.version.hip else Backend.CUDA


# What a plan depends on in a tensor, as a plain tuple, which costs each call less; to be read as an Operand.
OperandKey = tuple[torch.Size, tuple[int, ...], torch.dtype, torch.device]
Formats = tuple[Optional[torch.memory_format], ...]  # of the two operands, None for one that lies as it has to


class Operand(NamedTuple):

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


class Prepared(NamedTuple):
    """A plan, how its tensors have to lie in memory, and the tensor that it writes."""

    plan: Plan
    formats: Formats | None  # None where both lie as they have to
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    gpu: int | None  # the device's index, None on the CPU
    buffers: list[CBuffers]  # that no call uses now


@functools.lru_cache(maxsize=CACHED_PLANS)
def forward(
    x_key: OperandKey, w_key: OperandKey, bias_key: OperandKey | None, g: Geometry, threads: int
) -> Prepared:
    """Raises TypeError or ValueError, naming the argument, for tensors that do not go together."""
    x, w, bias = Operand(*x_key), Operand(*w_key), None if bias_key is None else Operand(*bias_key)
    _require_shapes(x, w)
    if integer("groups", g.groups) < 1:
        raise ValueError(f"groups is {g.groups}, must be at least 1")
    out_channels = w.shape[1] * g.groups
    _require_same(x, weight=w, bias=bias)
    if bias is not None and tuple(bias.shape) != (out_channels,):
        raise ValueError(f"bias.shape is {tuple(bias.shape)}, must be {(out_channels,)}")
    last, w_last = is_channels_last(x), is_channels_last(w)
    problem = _problem(Op.FORWARD, g, x, last, w.shape, w_last, out_channels, x.shape[2:], bias is not None)
    formats = _needed(x, last), _needed(w, w_last)
    return _prepare(problem, x.device, threads, formats, problem.output_shape(), last)


@functools.lru_cache(maxsize=CACHED_PLANS)
def input_grad(dy_key: OperandKey, w_key: OperandKey, g: Geometry, threads: int) -> Prepared | None:
    """None where the backend has no such gradient."""
    dy, w = Operand(*dy_key), Operand(*w_key)
    extents = input_extents(dy.shape[2:], w.shape[2:], g)
    last, w_last = is_channels_last(dy), is_channels_last(w)
    problem = _problem(Op.BACKWARD_DATA, g, dy, last, w.shape, w_last, dy.shape[1], extents)
    formats = _needed(dy, last), _needed(w, w_last)
    return _prepare_gradient(problem, dy.device, threads, formats, (dy.shape[0], w.shape[0], *extents), last)


@functools.lru_cache(maxsize=CACHED_PLANS)
def weight_grad(x_key: OperandKey, dy_key: OperandKey, g: Geometry, threads: int) -> Prepared | None:
    """None where the backend has no such gradient. dy is brought into the format of x."""
    x, dy = Operand(*x_key), Operand(*dy_key)
    kernel = kernel_extents(x.shape[2:], dy.shape[2:], g)
    shape = (x.shape[1], dy.shape[1] // g.groups, *kernel)
    last = is_channels_last(x)
    problem = _problem(Op.BACKWARD_WEIGHTS, g, x, last, shape, False, dy.shape[1], x.shape[2:])
    return _prepare_gradient(problem, x.device, threads, (_needed(x, last), _needed(dy, last)), shape, False)


def is_channels_last(tensor: Operand | Tensor) -> bool:
    """Whether a tensor of five axes has its channels innermost; one that is not dense may have them so too."""
    stride = tensor.stride if isinstance(tensor, Operand) else tensor.stride()
    return len(stride) == 5 and stride[1] == 1 and stride[4] >= tensor.shape[1]


def format_of(channels_last: bool) -> torch.memory_format:
    return torch.channels_last_3d if channels_last else torch.contiguous_format


def _require_shapes(x: Operand, w: Operand) -> None:
    for name, operand in (("input", x), ("weight", w)):
        if len(operand.shape) != 5:
            raise ValueError(f"{name}.shape is {tuple(operand.shape)}, must have 5 axes")
    if w.shape[0] != x.shape[1]:
        raise ValueError(f"weight.shape[0] is {w.shape[0]}, must be the {x.shape[1]} channels of input")


def _require_same(x: Operand, **others: Operand | None) -> None:
    if x.dtype not in _DTYPES:
        raise TypeError(f"input.dtype is {x.dtype}, must be one of {', '.join(map(str, _DTYPES))}")
    for name, other in others.items():
        if other is not None and other.dtype != x.dtype:
            raise TypeError(f"{name}.dtype is {other.dtype}, must be that of input, {x.dtype}")
        if other is not None and other.device != x.device:
            raise ValueError(f"{name}.device is {other.device}, must be that of input, {x.device}")


def _problem(
    op: Op,
    g: Geometry,
    activation: Operand,
    channels_last: bool,
    w_shape: Sequence[int],
    w_channels_last: bool,
    out_channels: int,
    extents: Sequence[int],
    has_bias: bool = False,
) -> Problem:
    padding = triple("padding", g.padding)
    return Problem(
        dtype=_DTYPES[activation.dtype],
        batch=activation.shape[0],
        in_channels=w_shape[0],
        out_channels=out_channels,
        groups=g.groups,
        in_=triple("input extents", extents),
        kernel=triple("kernel extents", w_shape[2:]),
        stride=triple("stride", g.stride),
        dilation=triple("dilation", g.dilation),
        pad_begin=padding,
        pad_end=padding,
        output_padding=triple("output_padding", g.output_padding),
        has_bias=has_bias,
        op=op,
        math=MATH["tf32" if g.tf32 else "fp32"],
        layout=LAYOUT["ndhwc" if channels_last else "ncdhw"],
        weights_layout=WEIGHTS_LAYOUT["idhwo" if w_channels_last else "iodhw"],
    )


def _needed(operand: Operand, channels_last: bool) -> torch.memory_format | None:
    """The format to copy an operand into, None if it lies so already."""
    lying = torch.empty_strided(operand.shape, operand.stride, device="meta")
    wanted = format_of(channels_last)
    return None if lying.is_contiguous(memory_format=wanted) else wanted


def _prepare(
    problem: Problem,
    device: torch.device,
    threads: int,
    formats: Formats,
    shape: tuple[int, ...],
    channels_last: bool,
) -> Prepared:
    gpu = device.index if device.type == "cuda" else None
    made = plan(problem, Backend.CPU if gpu is None else _GPU, gpu or 0, threads)
    strides = torch.empty(shape, device="meta", memory_format=format_of(channels_last)).stride()
    return Prepared(made, None if formats == (None, None) else formats, shape, strides, gpu, [])


def _prepare_gradient(
    problem: Problem,
    device: torch.device,
    threads: int,
    formats: Formats,
    shape: tuple[int, ...],
    channels_last: bool,
) -> Prepared | None:
    try:
        return _prepare(problem, device, threads, formats, shape, channels_last)
    except Unsupported:
        return None
