# SPDX-License-Identifier: MIT
"""ct3d: the 3-D transposed convolution (ConvTranspose3d, deconvolution) on CPU and GPU.

`conv_transpose3d` takes NumPy arrays and those of other libraries; `ct3d.torch` is for PyTorch, with gradients, modules
and compilation; `ct3d.onnx_shapes` has ONNX's rules of padding.
"""

from ._errors import DeviceError, Error, InternalError, InvalidArgument, OutOfMemory, Unsupported
from ._library import version
from .functional import conv_transpose3d

__version__ = version()

__all__ = [
    "DeviceError",
    "Error",
    "InternalError",
    "InvalidArgument",
    "OutOfMemory",
    "Unsupported",
    "__version__",
    "conv_transpose3d",
    "version",
]
