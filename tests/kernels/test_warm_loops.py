"""The kernels as they are compiled after installing, each run once: for `scripts/same_bits.py`, which compares them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest

WARM = [
    import_module(f"presage.operators.{name}.kernel.warm")
    for name in ("windows", "epl", "match", "sequence", "prediction", "recall")
]


@pytest.mark.parametrize("module", WARM, ids=lambda module: module.__name__.split(".")[2])
def test_every_loop_runs(module: ModuleType) -> None:
    module.warm()
