# SPDX-License-Identifier: MIT
"""ONNX's rules of ConvTranspose: from auto_pad, output_shape and pads to the arguments of `ct3d.conv_transpose3d`.

They hold for opset 1, 11 and 22, and for any number of spatial axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


class Geometry(NamedTuple):
    """Arguments of a transposed convolution; `conv_transpose3d(x, w, bias, groups=groups, **geometry._asdict())`."""

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    output_padding: tuple[int, ...]
    dilation: tuple[int, ...]


def reachable(extent: int, kernel: int, stride: int = 1, dilation: int = 1) -> range:
    """The output extents that some padding and output padding reach on one axis."""
    return range(1, (extent - 1) * stride + dilation * (kernel - 1) + max(stride, dilation) + 1)


def conv_transpose_geometry(
    input_shape: Sequence[int],
    kernel_shape: Sequence[int],
    *,
    auto_pad: str = "NOTSET",
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    opset: int = 22,
) -> Geometry:
    """What the attributes of an ONNX node mean.

    Args:
        input_shape, kernel_shape: the spatial extents of x and w.
        auto_pad: "NOTSET", "VALID", "SAME_UPPER" or "SAME_LOWER". The last two make the output `input * stride`.
        strides, dilations, output_padding: one number per axis; None for ones, or for zeros.
        pads: the begins of all axes, then their ends; heeded with NOTSET and without output_shape only.
        output_shape: the spatial extents of the output, from which the padding follows, or None.
        opset: of the model. Before 11, the odd element of a padding is on the other side.

    Raises:
        ValueError: a number of axes is wrong, auto_pad unknown, or an extent is out of reach: with the range in reach.
    """
    rank = len(input_shape)
    if auto_pad not in _AUTO_PADS:
        raise ValueError(f"auto_pad is {auto_pad!r}, must be one of {', '.join(_AUTO_PADS)}")
    kernel_shape = _per_axis("kernel_shape", kernel_shape, rank, 1)
    strides = _per_axis("strides", strides, rank, 1)
    dilations = _per_axis("dilations", dilations, rank, 1)
    extra = _per_axis("output_padding", output_padding, rank, 0)
    if output_shape is None and auto_pad.startswith("SAME"):
        output_shape = [extent * stride for extent, stride in zip(input_shape, strides)]
    if output_shape is None:
        given = _per_axis("pads", None if auto_pad == "VALID" else pads, 2 * rank, 0)
        return Geometry(strides, tuple(zip(given[:rank], given[rank:])), extra, dilations)

    wanted = _per_axis("output_shape", output_shape, rank, 0)
    odd_at_begin = (auto_pad != "SAME_UPPER") == (opset >= 11)
    padding, added = [], []
    for axis in range(rank):
        full = (input_shape[axis] - 1) * strides[axis] + dilations[axis] * (kernel_shape[axis] - 1) + extra[axis] + 1
        within = reachable(input_shape[axis], kernel_shape[axis], strides[axis], dilations[axis])
        if wanted[axis] not in within:
            raise ValueError(
                f"output_shape[{axis}] is {wanted[axis]}, must be {within.start} to {within.stop - 1} for the input's "
                f"{input_shape[axis]}, kernel {kernel_shape[axis]}, stride {strides[axis]}, dilation {dilations[axis]}"
            )
        total = max(full - wanted[axis], 0)
        begin = (total + 1) // 2 if odd_at_begin else total // 2
        padding.append((begin, total - begin))
        added.append(extra[axis] + max(wanted[axis] - full, 0))  # what is more than full comes at the end
    return Geometry(strides, tuple(padding), tuple(added), dilations)


def same_padding(
    input_shape: Sequence[int],
    kernel_shape: Sequence[int],
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
) -> Geometry:
    """Padding that makes the output `input * stride`, the odd element at the end. ValueError where none does."""
    return conv_transpose_geometry(
        input_shape, kernel_shape, auto_pad="SAME_UPPER", strides=stride, dilations=dilation
    )


def _per_axis(name: str, values: Sequence[int] | None, count: int, default: int) -> tuple[int, ...]:
    if values is None:
        return (default,) * count
    if len(values) != count:
        raise ValueError(f"{name} is {list(values)}, must have {count} numbers")
    return tuple(values)
