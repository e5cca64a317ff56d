"""Homes from before options or permissions were checked: they open, and the source says what is wrong with it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from presage.engine import Engine
from presage.errors import PresageError
from recovery.living import Living

DECLARED = "CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at WITH ({})"
OLD = [
    (
        "source = 'files'",
        "MISSING_OPTION: stream 'Tick' with source = 'files' needs the option 'path'; add path = 'incoming'",
    ),
    ("source = 'files', path = 'in', topic = 'faults'", "UNKNOWN_OPTION: 'topic' is not an option of stream 'Tick'"),
    ("source = 'files', path = 'in', settle = 'soon'", "BAD_DURATION: 'soon' is not a duration"),
    ("source = 'rate', rows_per_second = 'many'", "BAD_VALUE: rows_per_second is 'many'; it must be a number"),
    (
        "source = 'mqtt', host = 'localhost', topic = 't'",
        "HOST_NOT_ALLOWED: stream 'Tick' may not connect to localhost:1883: 127.0.0.1 is this machine or its link; "
        "open the engine with allow_hosts=['localhost'], or start the command with --allow-host localhost",
    ),
    (
        "source = 'mqtt', host = 'b.example', topic = 't', username = 'me', password = 'env:BROKER'",
        "ENV_NOT_ALLOWED: stream 'Tick' uses the environment variable BROKER, which statements may not read; "
        "open the engine with allow_env=['BROKER']",
    ),
]


@pytest.mark.parametrize(("options", "why"), OLD)
def test_an_old_home_opens_and_its_source_has_failed_with_the_reason(
    options: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("presage.workspace.check_source", lambda *_: None)
        with Living(tmp_path / "home", roots=[tmp_path]) as home:
            home.declare(DECLARED.format(options))
            home.load("Tick", [{"x": 1, "at": "2024-01-01T00:00:00Z"}])
    with Engine(home=tmp_path / "home", roots=[tmp_path]) as engine:
        end = time.monotonic() + 30
        while engine.sources["Tick"].state != "failed":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert engine.sources["Tick"].why.startswith(why)
        shown = {row["name"]: row for row in engine.execute("SHOW STREAMS").to_arrow().to_pylist()}
        assert why in str(shown["Tick"])
        assert engine.load("Tick", [{"x": 2, "at": "2024-01-01T00:00:01Z"}]).accepted == 1
        with pytest.raises(PresageError):
            engine.execute(DECLARED.format(options).replace("Tick", "Tock"))
