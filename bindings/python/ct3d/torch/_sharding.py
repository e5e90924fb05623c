# SPDX-License-Identifier: MIT
"""How the operators split over the devices of a DTensor: by the batch, with the same weights everywhere."""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch


def register_shardings() -> None:
    """For programs that use DTensors; others are spared the import, which takes seconds."""
    if "torch.distributed.tensor" in sys.modules:
        _register()


@functools.cache
def _register() -> None:
    from torch.distributed.tensor import Partial, Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    split, same, numbers = Shard(0), Replicate(), [None] * 6
    strategies: dict[Any, list[Any]] = {
        torch.ops.ct3d.conv_transpose3d.default: [([split], [split, same, same]), ([same], [same, same, same])],
        torch.ops.ct3d.conv_transpose3d_input_grad.default: [([split], [split, same]), ([same], [same, same])],
        torch.ops.ct3d.conv_transpose3d_weight_grad.default: [([Partial()], [split, split]), ([same], [same, same])],
    }
    for operator, placements in strategies.items():

        def strategy(*arguments: Any, placements: list[Any] = placements) -> list[Any]:
            tensors = [None if argument is None else 0 for argument in arguments[:-6]]
            return [
                (outputs, [None if tensor is None else p for tensor, p in zip(tensors, inputs)] + numbers)
                for outputs, inputs in placements
            ]

        register_sharding(operator)(strategy)
