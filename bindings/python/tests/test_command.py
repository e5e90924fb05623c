# SPDX-License-Identifier: MIT
"""`python -m ct3d` beside the command line program, whose path is in CT3D_PROGRAM."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_it_prints_what_the_program_prints() -> None:
    program = os.environ.get("CT3D_PROGRAM")
    if not program:
        pytest.skip("CT3D_PROGRAM is not set")
    expected = subprocess.run([program, "info"], check=True, capture_output=True, text=True).stdout
    printed = subprocess.run([sys.executable, "-m", "ct3d"], check=True, capture_output=True, text=True).stdout
    assert printed == expected
    assert printed.startswith("ct3d ")


def test_a_library_that_is_not_there_is_named() -> None:
    environment = {**os.environ, "CT3D_LIBRARY": "/nowhere/libct3d.so"}
    result = subprocess.run([sys.executable, "-c", "import ct3d"], capture_output=True, text=True, env=environment)
    assert result.returncode == 1
    assert "ImportError: ct3d's library /nowhere/libct3d.so cannot be loaded" in result.stderr
