"""Tables of figures, in windows of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from presage.cli.figures import section

NAMES = ("name", "state", "events", "watermark", "why")
ROW = ("Motion", "waiting", "1,234,567", "2024-03-01T09:00:00Z", "the folder does not exist")


def shown(width: int) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    console.print(section("Streams", NAMES, [ROW]))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_figure_is_cut_however_narrow_the_window(width: int) -> None:
    text = shown(width)
    for cell in ("Motion", "waiting", "1,234,567", "2024-03-01T09:00:00Z", "exist"):
        assert cell in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_window_that_is_wide_enough_gets_one_line_for_each() -> None:
    row = shown(120).splitlines()[3]
    assert all(cell in row for cell in ROW)
