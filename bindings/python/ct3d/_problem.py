# SPDX-License-Identifier: MIT
"""The description of one operation, hashable, and how arguments become its fields."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from ctypes import c_int64
from typing import NamedTuple, SupportsIndex, Union

from ._library import check, initialised, lib
from ._structs import CProblem, DType, Op, Triple

Ints3 = tuple[int, int, int]
IntOr3 = Union[SupportsIndex, Sequence[SupportsIndex]]
Padding = Union[SupportsIndex, Sequence[Union[SupportsIndex, Sequence[SupportsIndex]]]]


class Problem(NamedTuple):
    """The fields of ct3d_problem, without those that are reserved."""

    dtype: DType
    batch: int
    in_channels: int
    out_channels: int
    groups: int
    in_: Ints3
    kernel: Ints3
    stride: Ints3
    dilation: Ints3
    pad_begin: Ints3
    pad_end: Ints3
    output_padding: Ints3
    has_bias: bool = False
    op: Op = Op.FORWARD
    math: int = 0
    layout: int = 0
    weights_layout: int = 0

    def struct(self) -> CProblem:
        problem = initialised(CProblem)
        for name, value in self._asdict().items():
            setattr(problem, name, Triple(*value) if isinstance(value, tuple) else value)
        return problem

    def output_shape(self) -> tuple[int, ...]:
        """(N, C, D, H, W) of y, whatever the layout. Raises InvalidArgument if the problem is not legal."""
        shape = (c_int64 * 5)()
        check(lib.ct3d_output_shape(self.struct(), shape))
        return tuple(shape)


def integer(name: str, value: SupportsIndex) -> int:
    """Raises TypeError for what is no integer, ValueError for one that the library's int64_t cannot hold."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be an integer") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{name} is {number}, must fit in 64 bits")
    return number


def triple(name: str, value: IntOr3) -> Ints3:
    """One integer for all three axes, or one for each."""
    if not isinstance(value, Sequence):
        number = integer(name, value)
        return number, number, number
    if len(value) != 3:
        raise ValueError(f"{name} is {value!r}, must be one integer, or three: depth, height, width")
    depth, height, width = (integer(f"{name}[{axis}]", item) for axis, item in enumerate(value))
    return depth, height, width


def padding_pairs(padding: Padding) -> tuple[Ints3, Ints3]:
    """Padding at the begin and at the end of each axis; see conv_transpose3d()."""
    if not isinstance(padding, Sequence) or not any(isinstance(item, Sequence) for item in padding):
        both = triple("padding", padding)  # type: ignore[arg-type]
        return both, both
    for item in padding:
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
            raise ValueError(f"padding is {padding!r}, must be an integer, three, or three pairs (begin, end)")
    begins, ends = zip(*padding)
    return triple("padding", begins), triple("padding", ends)


def choice(name: str, value: str, values: Mapping[str, int]) -> int:
    """The number of a named value."""
    if value not in values:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(map(repr, values))}")
    return values[value]
