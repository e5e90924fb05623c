# SPDX-License-Identifier: MIT
"""conv_transpose3d on arrays of NumPy and other libraries."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from reference import Case, judge, random_case

import ct3d

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
SIMPLE = Case(2, 4, 6, 2, (3, 4, 5), (3, 3, 3), (2, 2, 2), ((1, 1),) * 3, (1, 1, 1), (1, 1, 1))


def simple(dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return SIMPLE.tensors(np.random.default_rng(1), dtype)


@pytest.mark.parametrize("layout", ["ncdhw", "ndhwc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_cases_keep_the_bound(dtype: str, layout: str) -> None:
    for seed in range(40):
        random = np.random.default_rng([7, seed])
        case = random_case(random)
        x, w, bias = case.tensors(random, DTYPES[dtype])
        given = bias if seed % 2 else None
        last = layout == "ndhwc"
        shown = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
        y = ct3d.conv_transpose3d(shown, w, given, layout=layout, **case.arguments)
        assert y.dtype == x.dtype
        judge(np.moveaxis(y, -1, 1) if last else y, x, w, given, case)


def test_tf32_is_exact_on_the_cpu() -> None:
    x, w, bias = simple()
    y = ct3d.conv_transpose3d(x, w, bias, math="tf32", **SIMPLE.arguments)
    judge(y, x, w, bias, SIMPLE)


def test_out_is_written_and_returned() -> None:
    x, w, bias = simple()
    out = np.full((2, 6, *SIMPLE.output), np.nan, np.float32)
    assert ct3d.conv_transpose3d(x, w, bias, **SIMPLE.arguments, out=out) is out
    judge(out, x, w, bias, SIMPLE)


def test_an_empty_batch_gives_an_empty_result() -> None:
    x, w, _ = simple()
    assert ct3d.conv_transpose3d(x[:0], w, groups=2).shape == (0, 6, 5, 6, 7)


def test_axes_of_one_may_have_any_stride() -> None:
    x, w, _ = simple()
    one = np.lib.stride_tricks.as_strided(x[:1], x[:1].shape, (12, *x.strides[1:]))
    expected = ct3d.conv_transpose3d(x[:1].copy(), w, groups=2)
    assert np.array_equal(ct3d.conv_transpose3d(one, w, groups=2), expected)


x, w, bias = simple()
MISTAKES: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (TypeError, "x is a list, must be", {"x": [1.0]}),
    (TypeError, "x.dtype is int32, must be", {"x": x.astype(np.int32)}),
    (TypeError, "x.dtype is >f4, must be", {"x": x.astype(">f4")}),
    (TypeError, "w.dtype is f64, must be that of x, f32", {"w": w.astype(float)}),
    (TypeError, "bias.dtype is f16, must be that of x, f32", {"bias": bias.astype(np.float16)}),
    (TypeError, "groups is 2.5, must be an integer", {"groups": 2.5}),
    (TypeError, r"stride\[1\] is '2', must be an integer", {"stride": (1, "2", 1)}),
    (ValueError, r"x.shape is \(4, 3, 4, 5\), must have 5 axes", {"x": x[0]}),
    (ValueError, r"x.strides is .* must be dense", {"x": x[:, :, :, :, ::2]}),
    (ValueError, r"w.strides is .* must be dense", {"w": np.broadcast_to(w[:1], w.shape)}),
    (ValueError, r"w.shape\[0\] is 3, must be the 4 channels of x", {"w": w[:3]}),
    (ValueError, r"bias.shape is \(5,\), must be \(6,\)", {"bias": bias[:5]}),
    (ValueError, r"bias.shape is \(\), must be \(6,\)", {"bias": np.array(1, np.float32)}),
    (ValueError, "groups is 3, must divide in_channels, which is 4", {"groups": 3, "bias": None}),
    (ValueError, "groups is 0, must be at least 1", {"groups": 0, "bias": None, "w": w}),
    (ValueError, r"stride is \(1, 2\), must be one integer, or three", {"stride": (1, 2)}),
    (ValueError, r"stride\[0\] \(depth\) is 0, must be at least 1", {"stride": 0}),
    (ValueError, "dilation is 18446744073709551616, must fit in 64 bits", {"dilation": 2**64}),
    (ValueError, "is too large", {"stride": 2**62}),
    (ValueError, r"pad_begin\[2\] \(width\) is -1", {"padding": (0, 0, -1)}),
    (ValueError, r"pad_end\[1\] \(height\) is -3", {"padding": ((0, 0), (0, -3), (0, 0))}),
    (ValueError, "padding is .*, must be an integer, three, or three pairs", {"padding": ((1, 2), 3, 4)}),
    (ValueError, r"output_padding\[0\] \(depth\) is 2, must be less than", {"output_padding": 2, "stride": 2}),
    (ValueError, r"out\[0\] \(depth\) is -15, must be at least 1", {"padding": 10}),
    (ValueError, "layout is 'nchw', must be one of 'ncdhw', 'ndhwc'", {"layout": "nchw"}),
    (ValueError, "math is 'fast', must be one of 'fp32', 'tf32'", {"math": "fast"}),
    (ValueError, r"out.shape is \(1,\), must be \(2, 6, 5, 6, 7\)", {"out": np.zeros(1, np.float32)}),
    (TypeError, "out.dtype is f64, must be that of x, f32", {"out": np.zeros((2, 6, 5, 6, 7))}),
]


@pytest.mark.parametrize("kind, message, changes", MISTAKES, ids=[message[:40] for _, message, _ in MISTAKES])
def test_a_mistake_is_an_exception_with_field_and_value(
    kind: type[Exception], message: str, changes: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=message):
        ct3d.conv_transpose3d(**{"x": x, "w": w, "bias": bias, "groups": 2, **changes})


def test_out_must_be_writable_and_apart_from_inputs() -> None:
    one = np.ones((1, 1, 2, 2, 2), np.float32)
    out = np.zeros_like(one)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only, must be writable"):
        ct3d.conv_transpose3d(one, one[..., :1, :1, :1].copy(), out=out)
    with pytest.raises(ct3d.InvalidArgument, match="overlaps"):
        ct3d.conv_transpose3d(one, np.ones((1, 1, 1, 1, 1), np.float32), out=one)


def test_a_misaligned_array_is_refused() -> None:
    memory = np.zeros(8 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(1, 1, 2, 2, 2)
    with pytest.raises(ValueError, match="buffers->x is .*, must be aligned to 4 bytes"):
        ct3d.conv_transpose3d(memory, np.ones((1, 1, 1, 1, 1), np.float32))


def test_threads_may_call_at_once() -> None:
    expected = ct3d.conv_transpose3d(x, w, bias, **SIMPLE.arguments)
    results: list[bool] = []

    def work() -> None:
        for _ in range(50):
            results.append(np.array_equal(ct3d.conv_transpose3d(x, w, bias, **SIMPLE.arguments), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200


class Exporter:
    """Another library's array on the host, known by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_dlpack_arrays_on_the_host() -> None:
    out = np.zeros((2, 6, *SIMPLE.output), np.float32)
    ct3d.conv_transpose3d(*map(Exporter, (x, w, bias)), **SIMPLE.arguments, out=Exporter(out))
    judge(out, x, w, bias, SIMPLE)
    with pytest.raises(TypeError, match="out is None, must be given where x is a Exporter"):
        ct3d.conv_transpose3d(Exporter(x), w, groups=2)
    with pytest.raises(TypeError, match="x.dtype is int64, must be"):
        ct3d.conv_transpose3d(Exporter(x.astype(np.int64)), w, groups=2)
    with pytest.raises(ValueError, match="x.strides is .* must be dense"):
        ct3d.conv_transpose3d(Exporter(x[:, :, ::2]), w, groups=2)


def test_jax_arrays() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    y = ct3d.conv_transpose3d(*map(jax.numpy.asarray, (x, w, bias)), **SIMPLE.arguments)
    assert isinstance(y, jax.Array)
    judge(np.asarray(y), x, w, bias, SIMPLE)
