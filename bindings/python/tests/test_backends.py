# SPDX-License-Identifier: MIT
"""CT3D_BACKEND: where arrays of the host are computed."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from reference import judge, random_case

import ct3d
from ct3d._library import check, initialised, lib
from ct3d._structs import Backend, CBackendInfo


def absence(backend: Backend) -> str:
    """Why a backend has no device, "" if it has one."""
    info = initialised(CBackendInfo)
    check(lib.ct3d_get_backend_info(backend, ctypes.byref(info)))
    return info.reason.decode()


@pytest.mark.parametrize("backend", [Backend.CUDA, Backend.HIP])
def test_host_arrays_are_computed_where_the_variable_says(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = absence(backend)
    if reason:
        pytest.skip(f"no GPU: {reason}")
    monkeypatch.setenv("CT3D_BACKEND", backend.name.lower())
    for seed in range(3):
        random = np.random.default_rng([13, seed])
        case = random_case(random)
        x, w, bias = case.tensors(random, np.float32)
        judge(ct3d.conv_transpose3d(x, w, bias, **case.arguments), x, w, bias, case)


def test_a_backend_without_a_device_is_an_error_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    absent = [backend for backend in (Backend.CUDA, Backend.HIP) if absence(backend)]
    if not absent:
        pytest.skip("every backend has a device")
    monkeypatch.setenv("CT3D_BACKEND", absent[0].name.lower())
    with pytest.raises(ct3d.Unsupported, match=absent[0].name.lower()):
        ct3d.conv_transpose3d(one, one)


def test_an_unknown_backend_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT3D_BACKEND", "abacus")
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    with pytest.raises(ValueError, match="CT3D_BACKEND is 'abacus', must be one of"):
        ct3d.conv_transpose3d(one, one)
