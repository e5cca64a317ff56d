"""`python -m presage.compile_kernels` leaves no kernel out."""

from __future__ import annotations

import ast
from pathlib import Path

import presage
from presage.compile_kernels import GROUPS

WARM = sorted(Path(presage.__file__).parent.glob("operators/*/kernel/warm.py"))


def test_groups_have_all_that_warming_up_runs() -> None:
    for path in WARM:
        operator = path.parts[-3]
        chosen = {function for name, function in GROUPS if name == operator}
        (warm,) = [node for node in ast.parse(path.read_text()).body if getattr(node, "name", "") == "warm"]
        called = {ast.unparse(node.func) for node in ast.walk(warm) if isinstance(node, ast.Call)}
        assert chosen == {"warm"} or chosen == {name for name in called if name.startswith("warm_")}, operator
    assert {name for name, _ in GROUPS} == {path.parts[-3] for path in WARM}
