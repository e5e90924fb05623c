# SPDX-License-Identifier: MIT
"""The README's example runs as it stands there, and the guide shows the same one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]


def example(path: Path) -> str:
    blocks = re.findall(r"(?:^    .*\n|^\n)+", path.read_text(), re.MULTILINE)
    return next(block for block in blocks if "import numpy" in block)


def test_the_example_runs_and_stands_in_both_places() -> None:
    text = example(ROOT / "README.md")
    assert text == example(ROOT / "docs/python.md")
    names: dict[str, object] = {}
    exec("if True:\n" + text, names)
    y = names["y"]
    assert isinstance(y, np.ndarray) and y.shape == (2, 64, 17, 33, 33)
