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
from ._plans import Operand, Prepared

_WORKSPACE_ALIGNMENT = 256
_BUFFERS_SIZE = ctypes.sizeof(CBuffers)
_execute = lib.ct3d_execute


def conv_transpose3d(x: Tensor, w: Tensor, bias: Tensor | None, geometry: Geometry) -> Tensor:
    prepared = _plans.forward(
        _operand(x), _operand(w), None if bias is None else _operand(bias), geometry, _threads(x)
    )
    x, w = _as_planned(prepared, x, w)
    y = x.new_empty_strided(prepared.shape, prepared.strides)
    if bias is None:
        _run(prepared, y, x.data_ptr(), w.data_ptr(), None, y.data_ptr(), None, None, None)
    else:
        bias = bias.contiguous()
        _run(prepared, y, x.data_ptr(), w.data_ptr(), bias.data_ptr(), y.data_ptr(), None, None, None)
    return y


def input_grad(dy: Tensor, w: Tensor, geometry: Geometry) -> Tensor:
    prepared = _plans.input_grad(_operand(dy), _operand(w), geometry, _threads(dy))
    if prepared is None:
        return _aten.input_grad(dy, w, geometry)
    dy, w = _as_planned(prepared, dy, w)
    dx = dy.new_empty_strided(prepared.shape, prepared.strides)
    _run(prepared, dx, None, w.data_ptr(), None, None, dy.data_ptr(), dx.data_ptr(), None)
    return dx


def weight_grad(x: Tensor, dy: Tensor, geometry: Geometry) -> Tensor:
    prepared = _plans.weight_grad(_operand(x), _operand(dy), geometry, _threads(x))
    if prepared is None:
        return _aten.weight_grad(x, dy, geometry)
    x, dy = _as_planned(prepared, x, dy)
    dw = x.new_empty_strided(prepared.shape, prepared.strides)
    _run(prepared, dw, x.data_ptr(), None, None, None, dy.data_ptr(), None, dw.data_ptr())
    return dw


def _operand(tensor: Tensor) -> Operand:
    return Operand(tensor.shape, tensor.stride(), tensor.dtype, tensor.device)


def _threads(tensor: Tensor) -> int:
    return torch.get_num_threads() if tensor.is_cpu else 0


def _as_planned(prepared: Prepared, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    a_format, b_format = prepared.formats
    if a_format is not None:
        a = a.contiguous(memory_format=a_format)
    if b_format is not None:
        b = b.contiguous(memory_format=b_format)
    return a, b


def _run(prepared: Prepared, result: Tensor, *pointers: int | None) -> None:
    """`pointers` are x, w, bias, y, dy, dx, dw."""
    plan, gpu = prepared.plan, prepared.gpu
    size, workspace = plan.workspace_size, None
    if size:
        memory = result.new_empty(size + _WORKSPACE_ALIGNMENT - 1, dtype=torch.uint8)
        workspace = (memory.data_ptr() + _WORKSPACE_ALIGNMENT - 1) & -_WORKSPACE_ALIGNMENT
    stream = None if gpu is None else torch._C._cuda_getCurrentRawStream(gpu)
    check(_execute(plan.handle, CBuffers(_BUFFERS_SIZE, *pointers, None, workspace, size, stream)))
