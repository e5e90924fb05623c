# SPDX-License-Identifier: MIT
"""ONNX's ConvTranspose: ONNX Runtime on the CPU, and the node tests that the onnx package ships."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases
from reference import random_case, scatter

import ct3d
from ct3d.onnx_shapes import conv_transpose_geometry, reachable, same_padding

CASES = 120
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # other operators overflow on purpose
    NODE_TESTS = list(collect_testcases("ConvTranspose"))


def run_onnxruntime(x: np.ndarray, w: np.ndarray, bias: np.ndarray, **attributes: Any) -> np.ndarray:
    arrays = {"x": x, "w": w, "b": bias}
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in arrays.items()]
    node = helper.make_node("ConvTranspose", list(arrays), ["y"], **attributes)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "g", infos, [y]), opset_imports=[helper.make_opsetid("", 11)])
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, arrays)[0]


@pytest.mark.parametrize("seed", range(CASES))
def test_random_cases_agree_with_onnxruntime(seed: int) -> None:
    random = np.random.default_rng([11, seed])
    case = random_case(random)
    below_stride = (min(a, s - 1) for a, s in zip(case.output_padding, case.stride))  # all that ONNX Runtime takes
    case = case._replace(output_padding=tuple(below_stride))
    if min(case.output) < 1:
        case = case._replace(padding=((0, 0),) * 3)
    x, w, bias = case.tensors(random, np.float32)
    begins, ends = zip(*case.padding)
    attributes: dict[str, Any] = {
        "strides": case.stride,
        "dilations": case.dilation,
        "output_padding": case.output_padding,
    }
    rule = seed % 4
    if rule == 0:
        attributes["pads"] = begins + ends
    elif rule == 1:
        attributes["output_shape"] = case.output
    elif rule == 2:
        attributes |= {"output_shape": case.output, "auto_pad": "SAME_UPPER"}
    else:
        attributes["auto_pad"] = "VALID"
    geometry = conv_transpose_geometry(case.extent, case.kernel, opset=11, **attributes)
    y = ct3d.conv_transpose3d(x, w, bias, groups=case.groups, **geometry._asdict())
    expected = run_onnxruntime(x, w, bias, group=case.groups, **attributes)
    assert y.shape == expected.shape
    meant = case._replace(padding=geometry.padding, output_padding=geometry.output_padding)
    magnitude = scatter(abs(x), abs(w), meant) + abs(bias.reshape(1, -1, 1, 1, 1))
    products = scatter(np.ones_like(x), np.ones_like(w), meant)
    assert (abs(y - expected) <= 2 * (products + 2) * 2.0**-24 * magnitude).all()


def in_three_axes(array: np.ndarray) -> np.ndarray:
    """One or two spatial axes as three, with extents of 1 in front."""
    return array.reshape(array.shape[:2] + (1,) * (5 - array.ndim) + array.shape[2:])


@pytest.mark.parametrize("test", NODE_TESTS, ids=lambda test: test.name)
def test_node_tests_of_the_onnx_package(test: Any) -> None:
    node = test.model.graph.node[0]
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    (inputs, (expected,)), = test.data_sets
    x, w, *rest = map(np.asarray, inputs)
    rank = x.ndim - 2
    geometry = conv_transpose_geometry(
        x.shape[2:],
        attributes.get("kernel_shape", w.shape[2:]),
        auto_pad=attributes.get("auto_pad", b"NOTSET").decode(),
        **{name: attributes.get(name) for name in ("strides", "dilations", "pads", "output_padding", "output_shape")},
        opset=test.model.opset_import[0].version,
    )
    front = 3 - rank
    y = ct3d.conv_transpose3d(
        in_three_axes(x),
        in_three_axes(w),
        *rest,
        stride=(1,) * front + geometry.stride,
        padding=((0, 0),) * front + geometry.padding,
        output_padding=(0,) * front + geometry.output_padding,
        dilation=(1,) * front + geometry.dilation,
        groups=attributes.get("group", 1),
    )
    np.testing.assert_allclose(y.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)


def test_the_onnx_package_ships_node_tests() -> None:
    assert len(NODE_TESTS) >= 10


@pytest.mark.parametrize(
    "auto_pad, opset, pair",
    [
        ("NOTSET", 1, (1, 2)),
        ("SAME_LOWER", 1, (1, 2)),
        ("SAME_UPPER", 1, (2, 1)),
        ("NOTSET", 11, (2, 1)),
        ("SAME_LOWER", 11, (2, 1)),
        ("SAME_UPPER", 11, (1, 2)),
        ("NOTSET", 22, (2, 1)),
        ("SAME_UPPER", 22, (1, 2)),
    ],
)
def test_where_the_odd_element_of_a_padding_goes(auto_pad: str, opset: int, pair: tuple[int, int]) -> None:
    geometry = conv_transpose_geometry([4], [5], strides=[2], output_shape=[8], auto_pad=auto_pad, opset=opset)
    assert geometry.padding == (pair,)


def test_every_reachable_extent_is_reached_and_no_other() -> None:
    for extent, kernel, stride, dilation in [(1, 1, 1, 1), (3, 1, 2, 1), (4, 3, 2, 2), (2, 2, 1, 3)]:
        within = reachable(extent, kernel, stride, dilation)
        x, w = np.ones((1, 1, 1, 1, extent), "f"), np.ones((1, 1, 1, 1, kernel), "f")
        for wanted in within:
            g = conv_transpose_geometry([1, 1, extent], [1, 1, kernel], strides=[1, 1, stride],
                                        dilations=[1, 1, dilation], output_shape=[1, 1, wanted])
            assert ct3d.conv_transpose3d(x, w, **g._asdict()).shape == (1, 1, 1, 1, wanted)
        for wanted in (within.start - 1, within.stop):
            message = rf"output_shape\[0\] is {wanted}, must be 1 to {within.stop - 1} for"
            with pytest.raises(ValueError, match=message):
                conv_transpose_geometry([extent], [kernel], strides=[stride], dilations=[dilation],
                                        output_shape=[wanted])


def test_same_padding_makes_the_output_input_times_stride() -> None:
    x, w = np.ones((1, 1, 3, 4, 5), "f"), np.ones((1, 1, 2, 3, 4), "f")
    g = same_padding(x.shape[2:], w.shape[2:], stride=(2, 2, 3))
    assert ct3d.conv_transpose3d(x, w, **g._asdict()).shape == (1, 1, 6, 8, 15)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"auto_pad": "SAME"}, "auto_pad is 'SAME', must be one of"),
        ({"pads": [1]}, r"pads is \[1\], must have 2 numbers"),
        ({"strides": [1, 1]}, r"strides is \[1, 1\], must have 1 numbers"),
    ],
)
def test_attributes_that_mean_nothing_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conv_transpose_geometry([4], [3], **changes)
