# SPDX-License-Identifier: MIT
"""The structs and values of ct3d.h."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from enum import IntEnum

Triple = c_int64 * 3


class Op(IntEnum):
    FORWARD = 0
    BACKWARD_DATA = 1
    BACKWARD_WEIGHTS = 2


class DType(IntEnum):
    F32 = 1
    F16 = 2
    BF16 = 3
    F64 = 4


class Backend(IntEnum):
    CPU = 1
    CUDA = 2
    HIP = 3


MATH = {"fp32": 0, "tf32": 1}
LAYOUT = {"ncdhw": 0, "ndhwc": 1}
WEIGHTS_LAYOUT = {"iodhw": 0, "idhwo": 1}


class CProblem(ctypes.Structure):
    """ct3d_problem; `in_` is its field `in`."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("op", c_int32),
        ("dtype", c_int32),
        ("math", c_int32),
        ("layout", c_int32),
        ("weights_layout", c_int32),
        ("has_bias", c_int32),
        ("batch", c_int64),
        ("in_channels", c_int64),
        ("out_channels", c_int64),
        ("groups", c_int64),
        ("in_", Triple),
        ("kernel", Triple),
        ("stride", Triple),
        ("dilation", Triple),
        ("pad_begin", Triple),
        ("pad_end", Triple),
        ("output_padding", Triple),
        ("w_dtype", c_int32),
        ("y_dtype", c_int32),
        ("bias_dtype", c_int32),
        ("y_layout", c_int32),
        ("y_batch_stride", c_int64),
        ("y_channel_stride", c_int64),
        ("packed_weights", c_int32),
        ("epilogue", c_int32),
        ("beta", c_double),
    ]


class CPlanOptions(ctypes.Structure):
    """ct3d_plan_options"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("backend", c_int32),
        ("device", c_int32),
        ("threads", c_int32),
        ("reserved", c_int32),
        ("max_workspace", c_uint64),
        ("kernel", c_char_p),
    ]


class CBuffers(ctypes.Structure):
    """ct3d_buffers"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("x", c_void_p),
        ("w", c_void_p),
        ("bias", c_void_p),
        ("y", c_void_p),
        ("dy", c_void_p),
        ("dx", c_void_p),
        ("dw", c_void_p),
        ("dbias", c_void_p),
        ("workspace", c_void_p),
        ("workspace_size", c_uint64),
        ("stream", c_void_p),
    ]


class CBackendInfo(ctypes.Structure):
    """ct3d_backend_info"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("backend", c_int32),
        ("device_count", c_int32),
        ("name", c_char * 32),
        ("version", c_char * 64),
        ("reason", c_char * 256),
    ]


class CDeviceInfo(ctypes.Structure):
    """ct3d_device_info"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("backend", c_int32),
        ("device", c_int32),
        ("name", c_char * 128),
        ("arch", c_char * 64),
        ("compute_units", c_int32),
        ("reserved", c_int32),
        ("memory", c_uint64),
        ("last_level_cache", c_uint64),
    ]
