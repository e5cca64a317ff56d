"""Log records of Presage: quiet by default, structured on request, without secrets."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import logging as ours
from presage.errors import PresageError
from presage.model import redaction
from recovery.living import Living
from unit.operations.homes import fill, tick

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def none_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(redaction, "_secrets", ())
    yield
    ours.stop()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_as_a_library_nothing_is_set_up() -> None:
    assert logging.getLogger("presage").handlers == []
    assert not ours.enabled(ours.INFO)


def test_a_record_is_one_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    ours.log_to("json", "info", stream)
    ours.tell(
        ours.WARNING, "SOURCE_STATE", "the source of '{stream}' is {state}: 100 %", stream="Tick", state="waiting"
    )
    (line,) = lines(stream)
    assert line["level"] == "warning"
    assert line["code"] == "SOURCE_STATE"
    assert line["message"] == "the source of 'Tick' is waiting: 100 %"
    assert (line["stream"], line["state"]) == ("Tick", "waiting")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(line["time"]))


def test_a_traceback_stays_on_its_line() -> None:
    stream = io.StringIO()
    ours.log_to("json", "info", stream)
    try:
        raise ValueError("two\nlines")
    except ValueError as failure:
        ours.tell(ours.ERROR, "SOURCE_FAILED", "it failed", failure=failure)
    (line,) = lines(stream)
    assert "two\nlines" in str(line["traceback"])


@pytest.mark.parametrize("format", ours.FORMATS)
def test_secrets_are_kept_out_of_messages_fields_and_tracebacks(format: str) -> None:
    redaction.keep_out("hunter22")
    stream = io.StringIO()
    ours.log_to(format, "info", stream)
    try:
        raise ValueError("refused: hunter22")
    except ValueError as failure:
        ours.tell(ours.WARNING, "SOURCE_STATE", "{why}", failure=failure, why=failure)
    logging.getLogger("presage").warning("not through tell: hunter22")
    assert "hunter22" not in stream.getvalue()
    assert redaction.MASK in stream.getvalue()


def test_the_environment_says_whether_and_how(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ours.log_as_environment_says()
    monkeypatch.setenv(ours.VARIABLE, "json")
    monkeypatch.setenv(ours.LEVEL_VARIABLE, "debug")
    assert ours.log_as_environment_says()
    assert ours.enabled(ours.DEBUG)
    ours.stop()
    monkeypatch.setenv(ours.VARIABLE, "xml")
    with pytest.raises(PresageError, match="'xml'"):
        ours.log_as_environment_says()


def test_a_statement_that_stands_fails_and_ends_is_told(tmp_path: Path) -> None:
    stream = io.StringIO()
    ours.log_to("json", "debug", stream)
    fill(tmp_path / "home")
    with Living(tmp_path / "home") as living:
        living.deployments.job.change_programs({}, {"1": "a test"})
        living.deployments.job.resume("1")
        living.load("Tick", [tick(300)])
        living.drain()
        living.stop("means")
    told = [(line["code"], line.get("statement")) for line in lines(stream) if line["code"] != "BATCH"]
    assert told == [
        ("STATEMENT_DEPLOYED", "means"),
        ("STATEMENT_DEPLOYED", "hot"),
        ("STATEMENT_FAILED", "means"),
        ("STATEMENT_RESUMED", "means"),
        ("STATEMENT_STOPPED", "means"),
    ]
    batch = next(line for line in lines(stream) if line["code"] == "BATCH")
    assert {"seconds", "events", "rows", "statements"} <= batch.keys()


def test_every_code_is_told_somewhere_and_is_on_the_page() -> None:
    files = [p for p in (ROOT / "src").rglob("*.py") if p.name != "logging.py"]
    text = "\n".join(path.read_text() for path in files)
    assert [code for code in ours.CODES if f'"{code}"' not in text] == []
    used = set(re.findall(r'\btell\(\s*\w+,\s*"([A-Z_]+)"', text))
    assert used - set(ours.CODES) == set()
    page = (ROOT / "docs" / "guide" / "monitoring.md").read_text()
    assert [code for code in ours.CODES if f"`{code}`" not in page] == []
