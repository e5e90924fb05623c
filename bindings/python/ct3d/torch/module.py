# SPDX-License-Identifier: MIT
"""torch.nn.ConvTranspose3d, computed by ct3d."""

from __future__ import annotations

import torch
from torch import Tensor

from .functional import TF32, conv_transpose3d


class ConvTranspose3d(torch.nn.ConvTranspose3d):
    """A layer with the constructor, parameters, state_dict and repr of torch.nn.ConvTranspose3d.

    `allow_tf32`, an attribute, is the argument of `ct3d.torch.conv_transpose3d`; False unless it is set.
    """

    allow_tf32: TF32 = False

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        output_padding = self.output_padding
        if output_size is not None:
            sizes = input, output_size, self.stride, self.padding, self.kernel_size, 3, self.dilation
            output_padding = self._output_padding(*sizes)  # type: ignore[assignment, arg-type]
        return conv_transpose3d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,  # type: ignore[arg-type]
            output_padding,
            self.groups,
            self.dilation,
            allow_tf32=self.allow_tf32,
        )
