"""Cells of statements, with a shell and an engine of the tests' own: what a cell gives, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from presage import Engine
from presage.notebooks.cells import Cells
from presage.plan.picture import Picture


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        engine.execute("CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;")
        engine.load("Tick", [{"sym": "a", "price": float(i), "at": f"2024-03-01T09:0{i}:00Z"} for i in range(3)])
        kept: dict[str, Any] = {"engine": engine}
        yield SimpleNamespace(user_ns=kept, push=kept.update)


def test_a_picture_is_shown_and_the_rows_are_kept(shell: Any) -> None:
    shown = Cells(shell).epl("--into rows --plot price", "SELECT sym, price FROM Tick")
    assert isinstance(shown, Picture)
    assert shell.user_ns["rows"].to_pandas()["price"].tolist() == [0.0, 1.0, 2.0]


def test_a_plan_is_shown_with_its_indentation_and_kept_as_rows(shell: Any) -> None:
    shown = Cells(shell).epl("--explain --into plan", "SELECT sym FROM Tick WHERE sym < 'b'")
    lines = shown.to_arrow()["plan"].to_pylist()
    indented = [line for line in lines if line.startswith("  ")]
    assert indented
    assert repr(shown).split("\n") == lines
    html = shown._repr_html_()
    assert html.startswith("<pre>")
    assert all(line.replace("&", "&amp;").replace("<", "&lt;").split("'")[0] in html for line in indented)
    assert "<table" not in html
    assert shell.user_ns["plan"] is shown
