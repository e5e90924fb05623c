# SPDX-License-Identifier: MIT
"""The operation by its definition, in NumPy and float64, and the error that ct3d may make."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
OUTPUT_UNIT = {"float16": (2.0**-11, 2.0**-25), "bfloat16": (2.0**-8, 2.0**-134)}


class Case(NamedTuple):
    """Three numbers per axis; padding in pairs (begin, end)."""

    batch: int
    in_channels: int
    out_channels: int
    groups: int
    extent: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    output_padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def arguments(self) -> dict[str, Any]:
        names = ("stride", "padding", "output_padding", "groups", "dilation")
        return {name: getattr(self, name) for name in names}

    @property
    def output(self) -> tuple[int, ...]:
        axes = zip(self.extent, self.kernel, self.stride, self.padding, self.output_padding, self.dilation)
        return tuple((i - 1) * s - sum(p) + d * (k - 1) + a + 1 for i, k, s, p, a, d in axes)

    def tensors(self, random: np.random.Generator, dtype: Any) -> tuple[Array, Array, Array]:
        shapes = (
            (self.batch, self.in_channels, *self.extent),
            (self.in_channels, self.out_channels // self.groups, *self.kernel),
            (self.out_channels,),
        )
        x, w, bias = (random.uniform(-1, 1, shape).astype(dtype) for shape in shapes)
        return x, w, bias


def random_case(random: np.random.Generator, symmetric: bool = False) -> Case:
    """A small legal case; `symmetric` is what PyTorch can say."""

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in random.integers(low, high + 1, 3))

    while True:
        groups = int(random.choice([1, 1, 1, 2, 3]))
        stride, dilation, begin = numbers(1, 3), numbers(1, 2), numbers(0, 2)
        end = begin if symmetric else numbers(0, 2)
        case = Case(
            batch=int(random.integers(1, 4)),
            in_channels=groups * int(random.integers(1, 6)),
            out_channels=groups * int(random.integers(1, 6)),
            groups=groups,
            extent=numbers(1, 6),
            kernel=numbers(1, 4),
            stride=stride,
            padding=tuple(zip(begin, end)),
            output_padding=tuple(int(random.integers(0, max(s, d))) for s, d in zip(stride, dilation)),
            dilation=dilation,
        )
        if min(case.output) >= 1:
            return case


def scatter(x: Array, w: Array, case: Case) -> Array:
    """Adds each input times each weight to the output that they meet in; no bias."""
    full = [
        (i - 1) * s + d * (k - 1) + 1 + a
        for i, s, d, k, a in zip(case.extent, case.stride, case.dilation, case.kernel, case.output_padding)
    ]
    y = np.zeros((case.batch, case.out_channels, *full))
    ins, outs = case.in_channels // case.groups, case.out_channels // case.groups
    for group, tap in itertools.product(range(case.groups), itertools.product(*map(range, case.kernel))):
        where = tuple(
            slice(t * d, t * d + (i - 1) * s + 1, s)
            for t, d, i, s in zip(tap, case.dilation, case.extent, case.stride)
        )
        inputs = slice(group * ins, (group + 1) * ins)
        product = np.einsum("nizyx,io->nozyx", x[:, inputs].astype(float), w[(inputs, slice(None), *tap)].astype(float))
        y[(slice(None), slice(group * outs, (group + 1) * outs), *where)] += product
    cut = tuple(slice(begin, length - end) for (begin, end), length in zip(case.padding, full))
    return y[(slice(None), slice(None), *cut)]


def judge(y: Array, x: Array, w: Array, bias: Array | None, case: Case) -> None:
    """Asserts the bound of docs/semantics.md for each element."""
    offset = 0.0 if bias is None else bias.astype(float).reshape(1, -1, 1, 1, 1)
    exact = scatter(x, w, case) + offset
    magnitude = scatter(abs(x.astype(float)), abs(w.astype(float)), case) + abs(offset)
    products = scatter(np.ones_like(x, float), np.ones_like(w, float), case)
    assert y.shape == exact.shape
    dtype = x.dtype.name
    bound = (products + 2) * UNIT.get(dtype, 2.0**-24) * magnitude + products * 2.0**-126
    if dtype in OUTPUT_UNIT:
        unit, subnormal = OUTPUT_UNIT[dtype]
        bound = (1 + unit) * bound + unit * abs(exact) + subnormal
    excess = abs(y.astype(float) - exact) - bound
    assert excess.max(initial=-1) <= 0, f"{case}: error {excess.max()} over the bound"
