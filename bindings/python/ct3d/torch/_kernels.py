# SPDX-License-Identifier: MIT
"""The operation and its two gradients on tensors as they lie in memory: on their device, on its current stream."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from .._library import check, lib
from .._structs import CBuffers
from . import _aten, _plans
from ._geometry import Geometry
from ._plans import OperandKey, Prepared

_WORKSPACE_ALIGNMENT = 256
_BUFFERS_SIZE = ctypes.sizeof(CBuffers)
_execute = lib.ct3d_execute


def conv_transpose3d(x: Tensor, w: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
    prepared = _plans.forward(key(x), key(w), None if bias is None else key(bias), geometry, threads(x))
    if prepared.formats is not None:
        x, w = _as_planned(prepared.formats, x, w)
    y = x.new_empty_strided(prepared.shape, prepared.strides)
    buffers = _buffers(prepared)
    buffers.x, buffers.w, buffers.y = x.data_ptr(), w.data_ptr(), y.data_ptr()
    if bias is not None:
        bias = bias.contiguous()
        buffers.bias = bias.data_ptr()
    _run(prepared, buffers, y)
    return y


def input_grad(dy: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    prepared = _plans.input_grad(key(dy), key(w), geometry, threads(dy))
    if prepared is None:
        return _aten.input_grad(dy, w, geometry)
    if prepared.formats is not None:
        dy, w = _as_planned(prepared.formats, dy, w)
    dx = dy.new_empty_strided(prepared.shape, prepared.strides)
    buffers = _buffers(prepared)
    buffers.dy, buffers.w, buffers.dx = dy.data_ptr(), w.data_ptr(), dx.data_ptr()
    _run(prepared, buffers, dx)
    return dx


def weight_grad(x: Tensor, dy: Tensor, geometry: Geometry) -> Tensor:
    prepared = _plans.weight_grad(key(x), key(dy), geometry, threads(x))
    if prepared is None:
        return _aten.weight_grad(x, dy, geometry)
    if prepared.formats is not None:
        x, dy = _as_planned(prepared.formats, x, dy)
    dw = x.new_empty_strided(prepared.shape, prepared.strides)
    buffers = _buffers(prepared)
    buffers.x, buffers.dy, buffers.dw = x.data_ptr(), dy.data_ptr(), dw.data_ptr()
    _run(prepared, buffers, dw)
    return dw


def key(tensor: Tensor) -> OperandKey:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device


def threads(tensor: Tensor) -> int:
    return torch.get_num_threads() if tensor.is_cpu else 0


def _as_planned(formats: _plans.Formats, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    a_format, b_format = formats
    if a_format is not None:
        a = a.contiguous(memory_format=a_format)
    if b_format is not None:
        b = b.contiguous(memory_format=b_format)
    return a, b


def _buffers(prepared: Prepared) -> CBuffers:
    """Used by one call at a time: a plan has as many as there ever were calls at once."""
    try:
        return prepared.buffers.pop()
    except IndexError:
        return CBuffers(struct_size=_BUFFERS_SIZE, workspace_size=prepared.plan.workspace_size)


def _run(prepared: Prepared, buffers: CBuffers, result: Tensor) -> None:
    size = prepared.plan.workspace_size
    if size:
        memory = result.new_empty(size + _WORKSPACE_ALIGNMENT - 1, dtype=torch.uint8)
        buffers.workspace = (memory.data_ptr() + _WORKSPACE_ALIGNMENT - 1) & -_WORKSPACE_ALIGNMENT
    if prepared.gpu is not None:
        buffers.stream = torch._C._cuda_getCurrentRawStream(prepared.gpu)
    status = _execute(prepared.plan.handle, buffers)
    if status:
        check(status)
    prepared.buffers.append(buffers)
