"""Cells of statements, in a shell of this process: what a notebook would show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from presage.errors import PresageError

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "rooms.ipynb"
TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"


@pytest.fixture
def shell(spark: Any) -> Iterator[InteractiveShell]:
    made = InteractiveShell()
    made.run_line_magic("load_ext", "presage")
    made.push({"spark": spark})
    yield made
    engine = made.user_ns.get("engine")
    if engine is not None:
        engine.close()


def shown(shell: InteractiveShell, source: str) -> Any:
    """The value of a cell; what it raises is raised here."""
    ran = shell.run_cell(source)
    ran.raise_error()
    return ran.result


def test_the_example_runs_from_the_first_cell_to_the_last(shell: InteractiveShell) -> None:
    found = []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            found.append(shown(shell, "".join(cell["source"])))
    tables = [value._repr_html_() for value in found if hasattr(value, "to_pandas")]
    assert len(tables) == 4
    assert ["<pre>" if html.startswith("<pre>") else "<table" in html for html in tables] == [True, True, "<pre>", True]
    drawn = [value.svg for value in found if hasattr(value, "svg")]
    assert len(drawn) == 3
    assert "mean by room" in drawn[0]
    assert shell.user_ns["warm"].to_pandas()["room"].tolist() == ["c2"]


def test_without_an_engine_one_is_made_and_kept(shell: InteractiveShell) -> None:
    shown(shell, f"%%epl\n{TICK}")
    shown(shell, "engine.load('Tick', [{'sym': 'a', 'price': 1.0, 'at': '2024-03-01T09:00:00Z'}])")
    rows = shown(shell, "%%epl --into kept\nSELECT sym, price FROM Tick")
    assert rows.to_pandas()["price"].tolist() == [1.0]
    assert shell.user_ns["kept"] is rows


def test_a_mistake_is_shown_with_its_caret_and_without_a_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(shell, f"%%epl\n{TICK}")
    ran = shell.run_cell("%%epl\nSELECT prize FROM Tick")
    assert isinstance(ran.error_in_exec, PresageError)
    told = capsys.readouterr()
    assert "price" in told.err
    assert "^^^^^" in told.err
    assert "Traceback" not in told.err + told.out


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%epl --plot\nCREATE STREAM Other (a INT, at TIMESTAMP) EVENT TIME at", "a cell without rows"),
        ("%%epl --plot sym\nSELECT sym, price FROM Tick", "a column of numbers"),
        ("%%epl --plot prize\nSELECT sym, price FROM Tick", "price"),
        ("%%epl --deploy\nSELECT sym FROM Tick", "expected one argument"),
        ("%%epl --deploy a\n-- nothing", "a statement"),
        ("%%epl --engine other\nSELECT sym FROM Tick", "a int"),
    ],
)
def test_what_a_cell_cannot_do_it_says(shell: InteractiveShell, cell: str, says: str) -> None:
    shown(shell, f"%%epl\n{TICK}")
    shown(shell, "other = 1")
    with pytest.raises(PresageError, match=says):
        shown(shell, cell)
