"""The live example: what it prints as rows come, across a restart, is what is written down beside it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("spark")

LIVE = Path(__file__).parents[2] / "examples" / "live"


def by_statement(text: str) -> dict[str, list[str]]:
    """Lines of each statement's rows, in order; between statements no order is promised. The other lines under ''."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        found.setdefault(line.split()[1] if line.startswith("  ") else "", []).append(line)
    return found


def test_the_live_example_prints_the_rows_that_are_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(LIVE / "live.py"))["main"](tmp_path / "home")
    assert by_statement(capsys.readouterr().out) == by_statement((LIVE / "expected.txt").read_text())
