"""The table of windows: what each says of itself is what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from presage.operators.windows.window_types import DURATION, EVENTS, KEYS, OFFSET, SLIDE, WindowType, window_types

PAGE = Path(__file__).parents[4] / "docs" / "capabilities" / "windows.md"
WRITTEN = {DURATION: "(d{})", EVENTS: "(n)", KEYS: "(expr, …)"}
THEN = {OFFSET: " [, offset]", SLIDE: ", slide", KEYS: " [, key, …]"}


@pytest.mark.parametrize("window", window_types(), ids=lambda window: window.name)
def test_the_page_of_windows_says_what_the_class_says(window: WindowType) -> None:
    arguments = WRITTEN.get(window.takes, "").format(THEN.get(window.then, ""))
    row = f"| `#{window.name}{arguments}` | {window.says} |"
    assert any(line.startswith(row) for line in PAGE.read_text().splitlines())
