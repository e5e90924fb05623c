# SPDX-License-Identifier: MIT
"""ct3d.torch in two processes: DistributedDataParallel, and DTensors sharded over the batch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

import ct3d.torch  # noqa: E402

PROCESSES = 2
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


def model(device: str) -> torch.nn.Module:
    torch.manual_seed(2)
    layers = torch.nn.ConvTranspose3d(3, 4, 3, 2, 1, 1), torch.nn.ReLU(), torch.nn.ConvTranspose3d(4, 2, 2, 2)
    return ct3d.torch.replace(torch.nn.Sequential(*layers)).to(device, torch.float64)


def data(device: str) -> torch.Tensor:
    torch.manual_seed(4)
    return torch.rand(4, 3, 3, 4, 5, dtype=torch.float64, device=device)


def expected_gradients(device: str) -> list[torch.Tensor]:
    whole = model(device)
    whole(data(device)).square().mean().backward()
    return [parameter.grad for parameter in whole.parameters()]


def enter(rank: int, device: str, file: str) -> str:
    """Two GPUs talk through NCCL; two processes on one through gloo."""
    torch.set_num_threads(1)
    own = device == "cuda" and torch.cuda.device_count() >= PROCESSES
    if own:
        torch.cuda.set_device(rank)
    dist.init_process_group("nccl" if own else "gloo", f"file://{file}", rank=rank, world_size=PROCESSES)
    return f"cuda:{rank if own else 0}" if device == "cuda" else "cpu"


def train_data_parallel(rank: int, device: str, file: str) -> None:
    place = enter(rank, device, file)
    parallel = torch.nn.parallel.DistributedDataParallel(model(place))
    parallel(data(place).chunk(PROCESSES)[rank]).square().mean().backward()
    for parameter, gradient in zip(parallel.parameters(), expected_gradients(place)):
        torch.testing.assert_close(parameter.grad, gradient)
    dist.destroy_process_group()


def train_sharded(rank: int, device: str, file: str) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_module, distribute_tensor

    place = enter(rank, device, file)
    mesh = init_device_mesh(device, (PROCESSES,))
    sharded = distribute_module(model(place), mesh)
    x = distribute_tensor(data(place), mesh, [Shard(0)])
    y = sharded(x)
    assert y.placements == (Shard(0),)
    assert y.to_local().shape[0] == data(place).shape[0] // PROCESSES
    torch.testing.assert_close(y.full_tensor(), model(place)(data(place)))
    y.square().mean().backward()
    for parameter, gradient in zip(sharded.parameters(), expected_gradients(place)):
        torch.testing.assert_close(parameter.grad.full_tensor(), gradient)
    dist.destroy_process_group()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("work", [train_data_parallel, train_sharded])
def test_two_processes_find_the_gradients_of_one(work: Callable[..., None], device: str) -> None:
    if work is train_sharded and device == "cuda" and torch.cuda.device_count() < PROCESSES:
        pytest.skip("no GPU for each process, which DTensors need")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        mp.spawn(work, (device, str(Path(folder) / "store")), PROCESSES)
