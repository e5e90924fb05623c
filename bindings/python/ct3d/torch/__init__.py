# SPDX-License-Identifier: MIT
"""ct3d in PyTorch: `conv_transpose3d` and `ConvTranspose3d` in place of torch's, and `replace` for whole models."""

from .functional import conv_transpose3d
from .module import ConvTranspose3d
from .replace import replace

__all__ = ["ConvTranspose3d", "conv_transpose3d", "replace"]
