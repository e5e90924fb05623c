# SPDX-License-Identifier: MIT
"""The layout of structs and the values of names, against what a C compiler makes of ct3d.h."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path

import pytest

import ct3d
from ct3d import _errors, _structs

INCLUDE = Path(__file__).parents[3] / "include"
STRUCTS = {
    "ct3d_problem": _structs.CProblem,
    "ct3d_plan_options": _structs.CPlanOptions,
    "ct3d_buffers": _structs.CBuffers,
    "ct3d_backend_info": _structs.CBackendInfo,
    "ct3d_device_info": _structs.CDeviceInfo,
}
VALUES = {
    **{f"CT3D_{op.name}": op for op in _structs.Op},
    **{f"CT3D_{dtype.name}": dtype for dtype in _structs.DType},
    **{f"CT3D_BACKEND_{backend.name}": backend for backend in _structs.Backend},
    **{f"CT3D_MATH_{name.upper()}": value for name, value in _structs.MATH.items()},
    **{f"CT3D_{name.upper()}": value for name, value in (_structs.LAYOUT | _structs.WEIGHTS_LAYOUT).items()},
    "CT3D_INVALID_ARGUMENT": _errors.InvalidArgument.status,
    "CT3D_UNSUPPORTED": _errors.Unsupported.status,
    "CT3D_OUT_OF_MEMORY": _errors.OutOfMemory.status,
    "CT3D_DEVICE_ERROR": _errors.DeviceError.status,
    "CT3D_INTERNAL": _errors.InternalError.status,
}


def python_lines() -> list[str]:
    lines = [f"{name} {int(value)}" for name, value in VALUES.items()]
    for name, struct in STRUCTS.items():
        lines.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            member = getattr(struct, field)
            lines.append(f"{name}.{field.rstrip('_')} {member.offset} {member.size}")
    return lines + [f"version {ct3d.__version__}"]


def c_program() -> str:
    prints = [f'printf("{name} %d\\n", (int){name});' for name in VALUES]
    for name, struct in STRUCTS.items():
        prints.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            member = field.rstrip("_")
            place = f"offsetof({name}, {member}), sizeof((({name} *)0)->{member})"
            prints.append(f'printf("{name}.{member} %zu %zu\\n", {place});')
    parts = ", ".join(f"CT3D_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH"))
    prints.append(f'printf("version %d.%d.%d\\n", {parts});')
    body = "\n".join(prints)
    return f"#include <ct3d/ct3d.h>\n#include <stdio.h>\nint main(void) {{\n{body}\nreturn 0;\n}}\n"


def test_structs_and_values_are_those_of_the_c_compiler(tmp_path: Path) -> None:
    if not INCLUDE.is_dir():
        pytest.skip("the header is not here")
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(c_program())
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-I", INCLUDE, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == python_lines()
