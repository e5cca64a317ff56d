"""Plain command lines, read without Typer: as Typer reads them, or left to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from presage.cli.options import ROWS, Debug, Events, File, Format, Home, OutputFormat, Rows, Seconds
from presage.cli.parameters import Argument, read_plainly
from presage.cli.typer_commands import for_typer

READ: list[dict[str, Any]] = []


def ask(
    file: File,
    events: Events = [],  # noqa: B006  Typer's way to say: none given
    format: OutputFormat = Format.table,
    rows: Rows = ROWS,
    home: Home = None,
    seconds: Seconds = None,
    debug: Debug = False,
) -> None:
    READ.append(locals())


def ask_all(files: Annotated[list[str], Argument("FILE", "Files.")], debug: Debug = False) -> None:
    READ.append(locals())


def by_typer(command: Any, words: list[str]) -> dict[str, Any] | None:
    app = typer.Typer()
    app.command()(for_typer(command))
    READ.clear()
    CliRunner().invoke(app, words)
    return READ[0] if READ else None


def plainly(command: Any, words: list[str]) -> dict[str, Any] | None:
    values = read_plainly(command, words)
    if values is None:
        return None
    READ.clear()
    command(**values)
    return READ[0]


WORDS = st.one_of(
    st.sampled_from(
        ["--events", "-e", "--format", "-f", "--rows", "--home", "--for", "--debug", "-", "--", "-h", "--r"]
    ),
    st.sampled_from(
        ["json", "csv", "xml", "JSON", "3", "0", "-1", "1e3", "+4", " 5", "1_0", "٣", "q.epl", "Tick=t.csv"]
    ),
    st.sampled_from(
        ["--rows=3", "--rows=", "--events=Tick=t.csv", "-eTick=t.csv", "-e=t", "--debug=1", "--for=2.5", ""]
    ),
)


@given(words=st.lists(WORDS, max_size=6))
def test_what_is_read_plainly_typer_reads_alike(words: list[str]) -> None:
    for command in (ask, ask_all):
        values = plainly(command, words)
        if values is not None:
            assert values == by_typer(command, words)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["q.epl"], {"file": "q.epl"}),
        (["-"], {"file": "-"}),
        (["q.epl", "-e", "Tick=a.csv", "--events=Tock=b.csv"], {"events": ["Tick=a.csv", "Tock=b.csv"]}),
        (["--format", "json", "--rows=7", "q.epl"], {"format": Format.json, "rows": 7}),
        (["q.epl", "--home", "a b", "--for", "3", "--debug"], {"home": Path("a b"), "seconds": 3.0, "debug": True}),
    ],
)
def test_plain_words_need_no_typer(words: list[str], values: dict[str, Any]) -> None:
    read = plainly(ask, words)
    assert read is not None
    assert {name: read[name] for name in values} == values
    assert by_typer(ask, words) == read


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a", "b"],
        ["a", "--help"],
        ["a", "--rows"],
        ["a", "--rows", "-1"],
        ["a", "--rows", "x"],
        ["a", "--format=xml"],
    ],
)
def test_mistakes_and_questions_are_left_to_typer(words: list[str]) -> None:
    assert plainly(ask, words) is None
    assert by_typer(ask, words) is None
