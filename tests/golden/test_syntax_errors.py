"""What a user sees for a wrong text: each file holds the text and, below a line, the errors as they are shown.

Run with UPDATE_GOLDEN=1 to write what is shown now, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.lang import parse

FILES = sorted((Path(__file__).parent / "syntax_errors").glob("*.txt"))
LINE = "\n=====\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_wrong_text_shows_this_error(path: Path) -> None:
    text, _, expected = path.read_text(encoding="utf-8").partition(LINE)
    with pytest.raises(PresageError) as raised:
        parse(text, "query.epl")
    shown = f"{raised.value}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text + LINE + shown, encoding="utf-8")
    else:
        assert shown == expected


def test_there_are_wrong_texts() -> None:
    assert len(FILES) >= 25
