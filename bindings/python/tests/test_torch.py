# SPDX-License-Identifier: MIT
"""ct3d.torch: on the CPU, and where there is a GPU, on that too."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np  # noqa: E402
from reference import Case, random_case  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

import ct3d  # noqa: E402
import ct3d.torch  # noqa: E402
from ct3d.torch import _plans  # noqa: E402

eager = torch.nn.functional.conv_transpose3d
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]
CASES = 240
# Of sums in the type's precision: TF32 and bf16 have 2^-11 and 2^-9 to an operand.
TOLERANCES = {"f64": 1e-12, "f32": 2e-6, "tf32": 4e-3, "f16": 2e-3, "bf16": 1.6e-2}
DTYPES = {"f64": torch.float64, "f32": torch.float32, "tf32": torch.float32}
DTYPES |= {"f16": torch.float16, "bf16": torch.bfloat16}
FORMATS = [torch.contiguous_format, torch.channels_last_3d]
ARGUMENTS = {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, "dilation": (1, 2, 1)}


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tensors(device: str, dtype: Any = torch.float64, grad: bool = True) -> list[Any]:
    torch.manual_seed(3)
    shapes = (2, 4, 3, 4, 5), (4, 3, 3, 2, 3), (6,)
    return [torch.rand(s, dtype=dtype, device=device).sub_(0.5).requires_grad_(grad) for s in shapes]


def close(ours: Any, theirs: Any, scale: Any, tolerance: float) -> None:
    """`scale` is the sum of absolute products; part of its mean allows for cuDNN's transforms, which mix outputs."""
    difference = (ours.double() - theirs.double()).abs()
    assert ours.shape == theirs.shape
    assert bool((difference <= tolerance * (scale + 0.1 * scale.mean())).all()), difference.max()


def operands(case: Case, mode: str, device: str, random: np.random.Generator, variant: int) -> list[Any]:
    """Contiguous, channels last, or with gaps from slicing or transposing."""
    made = []
    for array in case.tensors(random, np.float32):
        tensor = torch.from_numpy(array).to(device, DTYPES[mode])
        if tensor.dim() == 5:
            if variant % 4 == 1:
                tensor = tensor.contiguous(memory_format=torch.channels_last_3d)
            elif variant % 4 == 2:
                tensor = torch.cat([tensor, tensor], 1)[:, : tensor.shape[1]]
            elif variant % 4 == 3:
                tensor = tensor.transpose(2, 4).contiguous().transpose(2, 4)
        made.append(tensor.detach().requires_grad_())
    return made


def results(function: Callable[..., Any], inputs: list[Any], case: Case, dy: Any, **more: Any) -> list[Any]:
    arguments = {**case.arguments, "padding": [begin for begin, _ in case.padding], **more}
    y = function(*inputs, **arguments)
    return [y, *torch.autograd.grad(y, inputs, dy)]


@pytest.mark.parametrize("seed", range(CASES))
def test_random_cases_agree_with_torch(seed: int, device: str) -> None:
    random = np.random.default_rng([17, seed])
    mode = ["f32", "tf32", "f16", "bf16", "f64"][seed % 5]
    case = random_case(random, symmetric=True)
    inputs = operands(case, mode, device, random, seed // 5)
    doubles = [tensor.detach().double().requires_grad_() for tensor in inputs]
    shape = (case.batch, case.out_channels, *case.output)
    dy = torch.from_numpy(random.uniform(-1, 1, shape)).to(device, DTYPES[mode])
    side = torch.cuda.Stream() if device == "cuda" and seed % 2 else None
    if side is not None:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        ours = results(ct3d.torch.conv_transpose3d, inputs, case, dy, allow_tf32=mode == "tf32")
    if side is not None:
        torch.cuda.current_stream().wait_stream(side)
    theirs = results(eager, doubles, case, dy.double())
    absolute = [tensor.detach().abs().requires_grad_() for tensor in doubles]
    scales = results(eager, absolute, case, dy.double().abs())
    for one, other, scale in zip(ours, theirs, scales):
        assert one.dtype == DTYPES[mode]
        close(one, other, scale, TOLERANCES[mode])
    direct = eager(*inputs, **{**case.arguments, "padding": [begin for begin, _ in case.padding]})
    close(ours[0], direct, scales[0], 2 * TOLERANCES[mode])


@pytest.mark.parametrize("memory_format", FORMATS)
def test_the_memory_format_is_kept(memory_format: Any, device: str) -> None:
    x, w, bias = tensors(device)
    x = x.detach().contiguous(memory_format=memory_format).requires_grad_()
    y = ct3d.torch.conv_transpose3d(x, w, bias, **ARGUMENTS)
    assert y.is_contiguous(memory_format=memory_format)
    assert torch.autograd.grad(y.square().sum(), x)[0].is_contiguous(memory_format=memory_format)


def test_gradcheck_once_and_twice(device: str) -> None:
    torch.manual_seed(5)
    shapes = (1, 2, 2, 2, 3), (2, 1, 2, 3, 2), (2,)
    inputs = [torch.rand(shape, dtype=torch.float64, device=device, requires_grad=True) for shape in shapes]

    def function(x: Any, w: Any, bias: Any) -> Any:
        return ct3d.torch.conv_transpose3d(x, w, bias, stride=2, padding=1, output_padding=1, groups=2)

    assert torch.autograd.gradcheck(function, inputs, nondet_tol=1e-12)
    assert torch.autograd.gradgradcheck(function, inputs, nondet_tol=1e-12)


@pytest.mark.parametrize("memory_format", FORMATS)
def test_gradients_of_torch_where_ct3d_has_none(
    memory_format: Any, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for gradient in ("input_grad", "weight_grad"):
        monkeypatch.setattr(_plans, gradient, lambda *arguments: None)
    x, w, bias = tensors(device)
    x = x.detach().contiguous(memory_format=memory_format).requires_grad_()
    found, expected = (
        torch.autograd.grad(function(x, w, bias, **ARGUMENTS).square().sum(), [x, w, bias])
        for function in (ct3d.torch.conv_transpose3d, eager)
    )
    torch.testing.assert_close(found, expected)
    assert found[0].is_contiguous(memory_format=memory_format)


NUMBERS = ((2, 2, 2), (1, 1, 1), (1, 1, 1), 2, (1, 2, 1), False)


@pytest.mark.parametrize("memory_format", FORMATS)
def test_opcheck(memory_format: Any, device: str) -> None:
    x, w, bias = tensors(device)
    x = x.detach().contiguous(memory_format=memory_format).requires_grad_()
    dy = torch.rand_like(eager(x, w, bias, **ARGUMENTS)).requires_grad_()
    for operator, arguments in (
        (torch.ops.ct3d.conv_transpose3d, (x, w, bias)),
        (torch.ops.ct3d.conv_transpose3d_input_grad, (dy, w)),
        (torch.ops.ct3d.conv_transpose3d_weight_grad, (x, dy)),
    ):
        torch.library.opcheck(operator.default, (*arguments, *NUMBERS))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_with_one_graph(dynamic: bool, device: str) -> None:
    layer = ct3d.torch.ConvTranspose3d(4, 6, 3, 2, 1, 1, 2).to(device, torch.float64)
    compiled = torch.compile(lambda x: layer(x.relu()).sin(), fullgraph=True, dynamic=dynamic)
    for batch in (2, 3):
        x = torch.rand(batch, 4, 3, 4, 5, dtype=torch.float64, device=device, requires_grad=True)
        expected = layer(x.relu()).sin()
        gradients = torch.autograd.grad(expected.sum(), [x, layer.weight, layer.bias])
        y = compiled(x)
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(torch.autograd.grad(y.sum(), [x, layer.weight, layer.bias]), gradients)


def test_export(device: str) -> None:
    layer = ct3d.torch.ConvTranspose3d(4, 6, 3, 2, 1, 1, 2).to(device)
    x = torch.rand(2, 4, 3, 4, 5, device=device)
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(layer, (x,), dynamic_shapes=({0: batch},))
    assert "ct3d.conv_transpose3d.default" in str(program.graph)
    more = torch.rand(5, 4, 3, 4, 5, device=device)
    torch.testing.assert_close(program.module()(more), layer(more))


def test_fake_and_meta_tensors_have_the_shape_and_run_nothing() -> None:
    with FakeTensorMode():
        x, w = torch.empty(2, 4, 3, 4, 5), torch.empty(4, 3, 3, 2, 3)
        x = x.to(memory_format=torch.channels_last_3d)
        y = ct3d.torch.conv_transpose3d(x, w, **ARGUMENTS)
        assert y.shape == (2, 6, 6, 8, 10) and y.is_contiguous(memory_format=torch.channels_last_3d)
    metas = torch.empty(2, 4, 3, 4, 5, device="meta"), torch.empty(4, 3, 3, 2, 3, device="meta")
    meta = ct3d.torch.conv_transpose3d(*metas, **ARGUMENTS)
    assert meta.device.type == "meta" and meta.shape == y.shape


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_computes_in_its_type(dtype: Any, device: str) -> None:
    x, w, bias = tensors(device, torch.float32)
    with torch.autocast(device, dtype):
        y = ct3d.torch.conv_transpose3d(x, w, bias, **ARGUMENTS)
        double = ct3d.torch.conv_transpose3d(x.double(), w.double(), bias.double(), **ARGUMENTS)
    assert y.dtype == dtype and double.dtype == torch.float64
    y.float().sum().backward()
    assert x.grad.dtype == w.grad.dtype == bias.grad.dtype == torch.float32
    close(y, double, double.abs().max(), TOLERANCES["bf16"])


def test_the_module_is_a_drop_in() -> None:
    for arguments in ((4, 6, 3), (4, 6, (1, 2, 3), 2, 1, 1, 2, False, (2, 1, 1))):
        theirs, ours = torch.nn.ConvTranspose3d(*arguments), ct3d.torch.ConvTranspose3d(*arguments)
        assert repr(ours) == repr(theirs)
        assert ours.load_state_dict(theirs.state_dict()).missing_keys == []
        x = torch.rand(2, 4, 3, 4, 5)
        torch.testing.assert_close(ours(x), theirs(x))
        torch.testing.assert_close(ours(x[0]), theirs(x[0]))
        assert isinstance(ours, torch.nn.ConvTranspose3d)
    sized = torch.nn.ConvTranspose3d(4, 6, 3, 2)
    replaced = ct3d.torch.replace(copy.deepcopy(sized))
    torch.testing.assert_close(replaced(x, output_size=(8, 10, 12)), sized(x, output_size=(8, 10, 12)))


def test_replace_keeps_parameters_and_leaves_subclasses_alone() -> None:
    class Other(torch.nn.ConvTranspose3d):
        pass

    inner = torch.nn.Sequential(torch.nn.ConvTranspose3d(2, 2, 2))
    model = torch.nn.Sequential(torch.nn.ConvTranspose3d(2, 2, 2), inner, Other(2, 2, 2), torch.nn.Conv3d(2, 2, 2))
    parameters, x = list(model.parameters()), torch.rand(1, 2, 3, 3, 3)
    expected = model(x)
    assert ct3d.torch.replace(model, allow_tf32=True) is model
    assert [type(module) for module in (model[0], model[1][0], model[2])] == [*[ct3d.torch.ConvTranspose3d] * 2, Other]
    assert model[0].allow_tf32 is True
    assert all(a is b for a, b in zip(parameters, model.parameters()))
    torch.testing.assert_close(model(x), expected)


@pytest.mark.parametrize(
    "kind, message, changes",
    [
        (ValueError, r"weight.shape\[0\] is 3, must be the 4 channels of input", {"weight": torch.rand(3, 3, 1, 1, 1)}),
        (ValueError, r"weight.shape is \(4, 3\), must have 5 axes", {"weight": torch.rand(4, 3)}),
        (ValueError, r"bias.shape is \(5,\), must be \(3,\)", {"bias": torch.rand(5)}),
        (TypeError, "bias.dtype is torch.float64, must be that of input", {"bias": torch.rand(3).double()}),
        (TypeError, "input.dtype is torch.int64, must be one of", {"input": torch.ones(1, 4, 1, 1, 1).long()}),
        (ValueError, r"stride is \(1, 2\), must be one integer, or three", {"stride": (1, 2)}),
        (ValueError, r"output_padding\[0\] \(depth\) is 3, must be less than", {"output_padding": 3}),
        (TypeError, r"stride\[0\] is 1.5, must be an integer", {"stride": [1.5, 1, 1]}),
        (ValueError, "groups is 0, must be at least 1", {"groups": 0}),
    ],
)
def test_a_mistake_is_an_exception_with_field_and_value(kind: Any, message: str, changes: dict[str, Any]) -> None:
    arguments = {"input": torch.rand(1, 4, 2, 2, 2), "weight": torch.rand(4, 3, 1, 1, 1), "bias": None, **changes}
    with pytest.raises(kind, match=message):
        ct3d.torch.conv_transpose3d(**arguments)


def test_plans_are_found_again_and_bounded() -> None:
    _plans.forward.cache_clear()
    x, w, bias = tensors("cpu")
    for _ in range(3):
        ct3d.torch.conv_transpose3d(x, w, bias, **ARGUMENTS)
    info = _plans.forward.cache_info()
    assert (info.misses, info.hits) == (1, 2) and info.maxsize is not None


def test_function_transforms_and_forward_mode(device: str) -> None:
    x, w, _ = tensors(device, grad=False)

    def ours(x: Any) -> Any:
        return ct3d.torch.conv_transpose3d(x, w, **ARGUMENTS)

    def theirs(x: Any) -> Any:
        return eager(x, w, **ARGUMENTS)

    for transform in (
        lambda f: torch.func.grad(lambda x: f(x).square().sum())(x),
        lambda f: torch.func.vmap(f)(torch.stack([x, x + 1])),
        lambda f: torch.func.jvp(f, (x,), (x,)),
    ):
        torch.testing.assert_close(transform(ours), transform(theirs))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        tangents = [torch.autograd.forward_ad.unpack_dual(f(dual)).tangent for f in (ours, theirs)]
    torch.testing.assert_close(*tangents)


def test_a_subclass_of_tensors_stays_one(device: str) -> None:
    class Image(torch.Tensor):
        pass

    x, w, bias = tensors(device, grad=False)
    y = ct3d.torch.conv_transpose3d(x.as_subclass(Image), w, bias, **ARGUMENTS)
    assert type(y) is Image
    torch.testing.assert_close(y.as_subclass(torch.Tensor), eager(x, w, bias, **ARGUMENTS))


def test_the_generic_function_takes_tensors(device: str) -> None:
    x, w, bias = (tensor.bfloat16() for tensor in tensors(device, grad=False))
    y = ct3d.conv_transpose3d(x, w, bias, **ARGUMENTS)
    assert y.device == x.device and y.dtype == torch.bfloat16
    torch.testing.assert_close(y, ct3d.torch.conv_transpose3d(x, w, bias, **ARGUMENTS), rtol=0, atol=0)


def test_threads_may_train_at_once(device: str) -> None:
    inputs = tensors(device)
    expected = torch.autograd.grad(ct3d.torch.conv_transpose3d(*inputs, **ARGUMENTS).square().sum(), inputs)
    same: list[bool] = []

    def work() -> None:
        for _ in range(10):
            y = ct3d.torch.conv_transpose3d(*inputs, **ARGUMENTS)
            found = torch.autograd.grad(y.square().sum(), inputs)
            same.append(all(torch.allclose(a, b) for a, b in zip(found, expected)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 40


@needs_gpu
@pytest.mark.parametrize("mode", ["f32", "tf32", "f16"])
def test_a_graph_captures_a_call_and_replays_it(mode: str) -> None:
    x, w, bias = (tensor.to("cuda", DTYPES[mode]) for tensor in tensors("cuda", torch.float32, grad=False))

    def call() -> Any:
        return ct3d.torch.conv_transpose3d(x, w, bias, **ARGUMENTS, allow_tf32=mode == "tf32")

    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = call()
    for _ in range(3):
        x.uniform_(-1, 1)
        graph.replay()
        assert torch.equal(y, call())


@needs_gpu
def test_tf32_is_used_only_where_it_is_asked_for() -> None:
    torch.manual_seed(0)
    x, w = torch.rand(2, 64, 8, 8, 8, device="cuda"), torch.rand(64, 64, 3, 3, 3, device="cuda")
    exact = eager(x.double(), w.double())

    def error(**arguments: Any) -> float:
        return float(((ct3d.torch.conv_transpose3d(x, w, **arguments) - exact) / exact).abs().max())

    torch.backends.cudnn.allow_tf32 = True
    assert error() < 2e-6
    assert error(allow_tf32=True) > 5e-6
    assert error(allow_tf32="cudnn") > 5e-6
    torch.backends.cudnn.allow_tf32 = False
    assert error(allow_tf32="cudnn") < 2e-6


@needs_gpu
def test_gradients_in_float32_are_exact_whatever_cudnn_may_do() -> None:
    torch.backends.cudnn.allow_tf32 = True
    x = torch.rand(2, 64, 8, 8, 8, device="cuda", requires_grad=True)
    w = torch.rand(64, 64, 3, 3, 3, device="cuda", requires_grad=True)
    found = torch.autograd.grad(ct3d.torch.conv_transpose3d(x, w).square().sum(), [x, w])
    doubles = [tensor.detach().double().requires_grad_() for tensor in (x, w)]
    for ours, exact in zip(found, torch.autograd.grad(eager(*doubles).square().sum(), doubles)):
        assert float(((ours - exact) / exact).abs().max()) < 2e-5
    assert torch.backends.cudnn.allow_tf32


@needs_gpu
def test_a_tensor_of_another_stream_and_device_is_computed_there() -> None:
    for index in range(torch.cuda.device_count()):
        inputs = [tensor.to(f"cuda:{index}") for tensor in tensors("cpu", grad=False)]
        with torch.cuda.stream(torch.cuda.Stream(index)):
            torch.cuda._sleep(10_000_000)
            y = ct3d.torch.conv_transpose3d(inputs[0] + 1, *inputs[1:], **ARGUMENTS)
            torch.testing.assert_close(y, eager(inputs[0] + 1, *inputs[1:], **ARGUMENTS))
        assert y.device.index == index
