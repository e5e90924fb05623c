# SPDX-License-Identifier: MIT
"""The numbers of an operation, and the extents that follow from them; extents may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

from .._problem import Ints3

IntOr3 = Union[int, Sequence[int]]


class Geometry(NamedTuple):
    """In the order of the operators' arguments."""

    stride: Ints3
    padding: Ints3
    output_padding: Ints3
    groups: int
    dilation: Ints3
    tf32: bool


def geometry(
    stride: IntOr3, padding: IntOr3, output_padding: IntOr3, groups: int, dilation: IntOr3, tf32: bool
) -> Geometry:
    """Raises ValueError, naming the argument, where one is no integer, nor one nor three of them."""
    return Geometry(
        _triple("stride", stride),
        _triple("padding", padding),
        _triple("output_padding", output_padding),
        groups,
        _triple("dilation", dilation),
        tf32,
    )


def output_extents(extents: Sequence[int], kernel: Sequence[int], g: Geometry) -> list[int]:
    """Of y."""
    axes = zip(extents, kernel, g.stride, g.padding, g.output_padding, g.dilation)
    return [(i - 1) * s - 2 * p + d * (k - 1) + a + 1 for i, k, s, p, a, d in axes]


def input_extents(extents: Sequence[int], kernel: Sequence[int], g: Geometry) -> list[int]:
    """Of x, from those of y."""
    axes = zip(extents, kernel, g.stride, g.padding, g.output_padding, g.dilation)
    return [(o - 1 - a - d * (k - 1) + 2 * p) // s + 1 for o, k, s, p, a, d in axes]


def kernel_extents(inputs: Sequence[int], outputs: Sequence[int], g: Geometry) -> list[int]:
    """From those of x and y."""
    axes = zip(inputs, outputs, g.stride, g.padding, g.output_padding, g.dilation)
    return [(o - (i - 1) * s + 2 * p - a - 1) // d + 1 for i, o, s, p, a, d in axes]


def _triple(name: str, value: IntOr3) -> Ints3:
    if isinstance(value, int):
        return value, value, value
    if len(value) not in (1, 3):
        raise ValueError(f"{name} is {value!r}, must be one integer, or three: depth, height, width")
    return (value[0], value[0], value[0]) if len(value) == 1 else (value[0], value[1], value[2])
