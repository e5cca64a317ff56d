from __future__ import annotations

import pyarrow as pa
import pytest

from presage.model.catalog import Attribute
from presage.model.types import INT, STRING, TIMESTAMP
from presage.sources.messages import MESSAGES, Reader
from presage.storage.text_json import MOST_BRACKETS, read_objects

ATTRIBUTES = (Attribute("s", STRING), Attribute("at", TIMESTAMP))
AT = "2024-01-01T00:00:00Z"
POISON = b"\xff"


def messages(*values: bytes) -> pa.Table:
    return pa.table([["t-0"] * len(values), range(len(values)), [v + b"\n" for v in values]], schema=MESSAGES)


def taken(reader: Reader, *values: bytes) -> list[str]:
    return reader.read(messages(*values)).table["s"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", ["a\u2028b", "a\x0bb", "a\x85b", "\ufeffa", "y" * 200_000], ids=ascii)
def test_a_line_of_csv_says_the_same_whatever_comes_with_it(text: str) -> None:
    reader = Reader(ATTRIBUTES, "at", ["s", "at"])
    line = f"{text},{AT}".encode()
    assert taken(reader, line) == [text]
    assert taken(reader, line, POISON) == [text]


def test_a_quoted_field_may_be_long() -> None:
    reader = Reader(ATTRIBUTES, "at", ["s", "at"])
    assert taken(reader, f'"{"y" * 200_000}",{AT}'.encode()) == ["y" * 200_000]


@pytest.mark.parametrize(("opens", "closes"), ["[]", ('{"a":', "}")])
def test_what_is_nested_too_deeply_for_a_stack_is_rejected(opens: str, closes: str) -> None:
    # A line that is so deep ends the process, where Arrow's reader sees it: the limit is tried first.
    shallow, deep = (f'{{"s": "[", "x": {opens * n}1{closes * n}}}\n'.encode() for n in (MOST_BRACKETS // 2, 1_000))
    assert read_objects(pa.py_buffer(shallow), 1, len(shallow), (Attribute("s", STRING),)) is not None
    assert read_objects(pa.py_buffer(shallow + deep), 2, len(deep), (Attribute("s", STRING),)) is None
    reader = Reader(ATTRIBUTES, "at")
    good = f'{{"s": "a", "at": "{AT}"}}'.encode()
    poison = f'{{"s": "b", "at": "{AT}", "x": {opens * 50_000}1{closes * 50_000}}}'.encode()
    found = reader.read(messages(good, poison, good))
    assert found.table["s"].to_pylist() == ["a", "a"]
    assert found.rejected.reasons == ["the message is not JSON: it is nested too deeply"]


def test_many_flat_lines_with_brackets_are_read_at_once() -> None:
    lines = b'{"n": 1, "x": [[1], [2]]}\n' * 1_000
    found = read_objects(pa.py_buffer(lines), 1_000, 30, (Attribute("n", INT),))
    assert found is not None
    assert found.num_rows == 1_000
