# SPDX-License-Identifier: MIT
"""ct3d for the layers of an existing model."""

from __future__ import annotations

from typing import TypeVar

import torch

from .functional import TF32
from .module import ConvTranspose3d

Model = TypeVar("Model", bound=torch.nn.Module)


def replace(model: Model, *, allow_tf32: TF32 = False) -> Model:
    """Lets ct3d compute every torch.nn.ConvTranspose3d in a model, in place, and returns the model.

    Parameters, buffers, hooks and names stay what they are, so that optimizers and checkpoints go on working.
    Subclasses of torch.nn.ConvTranspose3d, which may compute something else, are left alone.
    """
    for module in model.modules():
        if type(module) is torch.nn.ConvTranspose3d:
            module.__class__ = ConvTranspose3d
            module.allow_tf32 = allow_tf32  # type: ignore[assignment]
    return model
