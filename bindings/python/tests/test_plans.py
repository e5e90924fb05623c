# SPDX-License-Identifier: MIT
"""The cache of plans."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref

import numpy as np

import ct3d
from ct3d import _plans
from ct3d._problem import Problem
from ct3d._structs import Backend, DType

ONE = np.ones((1, 1, 1, 1, 1), np.float32)


def test_a_problem_is_planned_once() -> None:
    _plans.plan.cache_clear()
    for _ in range(3):
        ct3d.conv_transpose3d(ONE, ONE)
    info = _plans.plan.cache_info()
    assert (info.misses, info.hits) == (1, 2)


def test_the_cache_is_bounded_and_plans_that_leave_it_are_destroyed() -> None:
    _plans.plan.cache_clear()
    one = (1, 1, 1)
    problem = Problem(DType.F32, 1, 1, 1, 1, one, one, one, one, (0, 0, 0), (0, 0, 0), (0, 0, 0))
    first = weakref.ref(_plans.plan(problem, Backend.CPU, 0))
    for stride in range(2, _plans.CACHED_PLANS + 1):
        ct3d.conv_transpose3d(ONE, ONE, stride=stride)
    assert first() is not None
    ct3d.conv_transpose3d(ONE, ONE, stride=_plans.CACHED_PLANS + 1)
    assert _plans.plan.cache_info().currsize == _plans.CACHED_PLANS
    assert first() is None


def test_a_child_after_fork_computes_and_the_interpreter_ends_cleanly() -> None:
    program = """if True:
        import os, sys
        import numpy as np
        import ct3d
        x, w = np.ones((1, 8, 9, 9, 9), np.float32), np.ones((8, 8, 3, 3, 3), np.float32)
        expected = ct3d.conv_transpose3d(x, w)
        child = os.fork()
        same = np.allclose(ct3d.conv_transpose3d(x, w), expected)
        if child == 0:
            os._exit(0 if same else 1)
        sys.exit(os.waitpid(child, 0)[1] or not same)"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60, env=os.environ)
