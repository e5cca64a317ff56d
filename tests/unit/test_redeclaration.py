"""A program that is started twice: equal declarations are accepted, different ones rejected, nothing is dropped."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from presage import Engine
from presage.errors import PresageError
from presage.storage import SourceOffsets
from presage.workspace import Workspace

FLOOR = """{"states": ["hall", "lab"], "transition": [[0.9, 0.1], [0.1, 0.9]],
 "emission": {"kind": "discrete", "table": {"hall": {"A": 0.5}, "lab": {"A": 0.1}}}}"""
TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym) WITH (max_delay = '5 sec')"
# One of each kind; the statement before the sink, which needs it.
EVERYTHING = [
    "CREATE SCHEMA Timed (at TIMESTAMP) EVENT TIME at",
    TICK,
    "CREATE STREAM Placed (place STRING) INHERITS Timed WITH (source = 'files', path = 'incoming')",
    "CREATE STREAM Reading (who STRING, reading STRING, at TIMESTAMP) EVENT TIME at KEY (who)",
    "CREATE STREAM At (who STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (who) PROBABILISTIC MARKOV (place)",
    "CREATE STREAM Gps (car STRING, v DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) PREDICTED (v) WITH (threshold = 2)",
    "CREATE STREAM Meant (room STRING) INHERITS Timed CONTEXT 'c.jsonld'",
    "CREATE RELATION Hall (location STRING) VALUES ('h1')",
    "CREATE RELATION Room (location STRING) FROM 'room.csv' WITH (nulls = 'NA')",
    "CREATE MODEL floor FROM 'floor.json'",
    "CREATE KNOWLEDGE campus FROM 'campus.ttl'",
    "CREATE STREAM In (who STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (who) "
    "FROM INFERENCE OVER Reading USING MODEL floor (FILTER)",
    "INSERT INTO Loud SELECT sym, price FROM Tick(price > 10)",
    "CREATE STATEMENT spikes AS SELECT sym FROM Tick(price > 100)",
    "CREATE SINK out FROM spikes WITH (sink = 'parquet', path = 'out')",
]
FILES = [text for text in EVERYTHING if text.split()[1] in ("MODEL", "KNOWLEDGE") or "room.csv" in text]


def put_files(tmp_path: Path) -> None:
    (tmp_path / "floor.json").write_text(FLOOR)
    (tmp_path / "campus.ttl").write_text("<http://x/a> <http://x/in> <http://x/b> .")
    (tmp_path / "c.jsonld").write_text('{"@context": {"room": "http://x/room"}}')
    (tmp_path / "room.csv").write_text("location\nr1\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put_files(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine with all of it, for tests that change none of it."""
    folder = tmp_path_factory.mktemp("everything")
    put_files(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        with opened(folder) as made:
            made.execute(";\n".join(EVERYTHING))
            made.load("Tick", ticks(1))
            yield made


def opened(place: Path) -> Engine:
    return Engine(home=place / "home", live=False, driven=False)


@pytest.fixture
def engine(place: Path) -> Iterator[Engine]:
    with opened(place) as made:
        yield made


def refusal(engine: Engine, text: str) -> PresageError:
    with pytest.raises(PresageError) as raised:
        engine.execute(text)
    return raised.value


def ticks(*prices: float) -> list[dict[str, Any]]:
    return [{"sym": "a", "price": p, "at": f"2024-01-01T00:00:{i:02}Z"} for i, p in enumerate(prices)]


def entries(engine: Engine) -> int:
    return len(engine._log.catalog_entries())


def test_what_is_declared_already_is_not_declared_again(place: Path) -> None:
    text = ";\n".join(EVERYTHING)
    with opened(place) as engine:
        engine.execute(text)
        engine.load("Tick", ticks(1, 200))
        known = entries(engine)
        engine.execute(text)
        assert entries(engine) == known
    with opened(place) as engine:  # the next start of the program
        engine.check(text)
        engine.execute(text)
        assert entries(engine) == known
        assert engine.deploy("SELECT sym FROM Tick(price > 100)", name="spikes").name == "spikes"
        assert len(engine.deployments) == 1
        engine.load("Tick", ticks(*range(101, 111)))
        engine.deployments["spikes"].drain()
        assert engine.deployments["spikes"].status.rows_out > 0


def test_a_home_that_keeps_paths_as_they_were_written_knows_them_again(place: Path) -> None:
    with patch.object(Workspace, "settle", lambda space, statement: statement), opened(place) as engine:
        engine.execute(";".join(FILES))  # as older releases did
    with opened(place) as engine:
        assert engine.catalog.relations["Room"].path == "room.csv"
        engine.execute(";".join(FILES))
        other = "CREATE RELATION Room (location STRING) FROM 'floor.json' WITH (nulls = 'NA')"
        assert "room.csv', here '" in refusal(engine, other).message


@pytest.mark.parametrize("text", [text for text in EVERYTHING if text.startswith("CREATE")])
def test_IF_NOT_EXISTS_takes_what_is_there_whatever_it_says(everything: Engine, text: str) -> None:
    engine = everything
    kind, name = text.split()[1:3]
    other = {
        "SCHEMA": "(b INT)",
        "STREAM": "(b INT, at TIMESTAMP) EVENT TIME at",
        "RELATION": "(b INT) VALUES (1)",
        "MODEL": "FROM 'none.json'",
        "KNOWLEDGE": "FROM 'none.ttl'",
        "STATEMENT": "AS SELECT price FROM Tick",
        "SINK": "FROM nothing WITH (sink = 'callback')",
    }[kind]
    known = entries(engine)
    engine.execute(f"CREATE {kind} IF NOT EXISTS {name} {other}")
    assert entries(engine) == known
    fresh = {"FROM 'none.json'": "FROM 'floor.json'", "FROM 'none.ttl'": "FROM 'campus.ttl'"}.get(other, other)
    engine.execute(f"CREATE {kind} IF NOT EXISTS New{known} {fresh.replace('nothing', 'spikes')}")
    assert entries(engine) == known + 1


@pytest.mark.parametrize("kind", ["STREAM", "RELATION"])
def test_IF_NOT_EXISTS_does_not_take_a_thing_of_another_kind(engine: Engine, kind: str) -> None:
    engine.execute("CREATE SCHEMA Timed (at TIMESTAMP) EVENT TIME at")
    rest = "(at TIMESTAMP) EVENT TIME at" if kind == "STREAM" else "(a INT) VALUES (1)"
    problem = refusal(engine, f"CREATE {kind} IF NOT EXISTS Timed {rest}")
    assert (problem.code, problem.fix) == ("ALREADY_DECLARED", "choose another name")


DIFFERENT = [
    (TICK.replace("price DOUBLE", "price LONG"), "attribute price is DOUBLE, here LONG"),
    (TICK.replace("price DOUBLE", "price DOUBLE, venue STRING"), "attribute venue (STRING) is new"),
    (TICK.replace("price DOUBLE, ", ""), "attribute price (DOUBLE) is left out"),
    (TICK.replace("sym STRING, price DOUBLE", "price DOUBLE, sym STRING"), "the order is sym, price, at, here price"),
    (TICK.replace(" KEY (sym)", ""), "KEY (sym) is left out"),
    (TICK.replace("5 sec", "6 sec"), "max_delay is '5 sec', here '6 sec'"),
    (TICK.replace("')", "', retention = '1 day')"), "retention ('1 day') is new"),
    (TICK.replace("')", "', nulls = 'NA')"), "nulls ('NA') is new"),
    (EVERYTHING[4].replace(" MARKOV", ""), "attribute prev_place (STRING) is left out; PROBABILISTIC is attributes"),
    (EVERYTHING[5].replace("threshold = 2", "threshold = 3"), "threshold is '2', here '3'"),
    (EVERYTHING[6].replace("INHERITS Timed", "INHERITS Timed KEY (room)"), "KEY (room) is new"),
    (EVERYTHING[11].replace("FILTER", "SMOOTH"), "INFERENCE is over Reading, model floor, method filter, here over"),
    ("CREATE SCHEMA Timed (at TIMESTAMP, a INT) EVENT TIME at", "attribute a (INT) is new"),
    ("CREATE RELATION Hall (location STRING) VALUES ('h1'), ('h2')", "the list of VALUES is 1 rows"),
    ("CREATE SINK out FROM spikes WITH (sink = 'parquet', path = 'elsewhere')", "path is '"),
    ("CREATE SINK out FROM other WITH (sink = 'parquet', path = 'out')", "FROM is spikes, here other"),
    ("CREATE KNOWLEDGE campus FROM 'campus.ttl' REASONING OWL_RL", "REASONING ('OWL_RL') is new"),
    ("CREATE STATEMENT spikes AS SELECT sym FROM Tick(price > 99)", "'FROM Tick(price > 100)' where this has"),
]


@pytest.mark.parametrize(("text", "difference"), DIFFERENT)
def test_a_CREATE_that_says_something_else_is_refused_with_the_difference(
    everything: Engine, text: str, difference: str
) -> None:
    problem = refusal(everything, text)
    assert problem.code == "ALREADY_DECLARED"
    assert difference in problem.message
    assert "DROP STREAM" not in problem.fix
    assert "DROP SCHEMA" not in problem.fix
    assert problem.span is not None


@pytest.mark.parametrize(
    "text",
    [
        TICK.replace("5 sec", "5000 msec"),
        TICK.replace("')", "', source = 'memory', archive = TRUE)"),
        f"create stream Tick {TICK.partition(' Tick ')[2]}",
    ],
)
def test_other_words_for_the_same_are_the_same(engine: Engine, text: str) -> None:
    engine.execute(TICK)
    engine.execute(text)


def test_a_file_that_says_something_else_now_is_told_with_what_is_safe(engine: Engine, place: Path) -> None:
    engine.execute(";\n".join(EVERYTHING))
    (place / "room.csv").write_text("location\nr1\nNA\n")
    (place / "campus.ttl").write_text("<http://x/a> <http://x/in> <http://x/c> .")
    (place / "floor.json").write_text(FLOOR.replace("0.5", "0.4"))
    found = {text.split()[2]: refusal(engine, text) for text in FILES}
    assert "its file holds other rows now: 2, when it was declared 1" in found["Room"].message
    assert "its file says something else now" in found["floor"].message
    assert found["campus"].fix == "REFRESH KNOWLEDGE campus reads its files again"
    for text in FILES:
        engine.execute(
            text.replace("CREATE RELATION", "CREATE RELATION IF NOT EXISTS")
            .replace("CREATE MODEL", "CREATE MODEL IF NOT EXISTS")
            .replace("CREATE KNOWLEDGE", "CREATE KNOWLEDGE IF NOT EXISTS")
        )


# -- dropping -------------------------------------------------------------------------------------------------


def test_a_stream_that_has_events_is_dropped_with_CASCADE_alone(engine: Engine) -> None:
    engine.execute(TICK)
    engine.load("Tick", [*ticks(1, 2, 3), {"sym": "x"}])
    engine.execute("INSERT INTO Loud SELECT sym, price FROM Tick(price > 10)")
    engine.execute("CREATE STATEMENT spikes AS SELECT sym FROM Loud")
    problem = refusal(engine, "DROP STREAM Tick")
    assert problem.code == "HOLDS_EVENTS"
    assert problem.message == (
        "DROP would delete stream 'Tick' (3 events, 1 rejected); with it would go statement 'spikes', "
        "derived stream 'Loud'"
    )
    assert problem.fix == "to delete all of it: DROP STREAM Tick CASCADE"
    assert engine.catalog.types.keys() >= {"Tick", "Loud"}
    gone = engine.execute("DROP STREAM Tick CASCADE")
    assert gone is not None
    assert [tuple(row.values()) for row in gone.to_arrow().to_pylist()] == [
        ("statement", "spikes", 0, 0, 0, 0),
        ("derived stream", "Loud", 0, 0, 0, 0),
        ("stream", "Tick", 3, 0, 1, 0),
    ]
    assert not engine.catalog.types.keys() & {"Tick", "Loud"}
    assert engine.deployments["spikes"].status.state == "stopped"


def test_events_that_wait_for_others_of_their_source_are_held_too(engine: Engine) -> None:
    engine.execute(TICK)
    numbered = [{**row, "n": 5 + i} for i, row in enumerate(ticks(1, 2))]
    assert engine.load("Tick", numbered, source=SourceOffsets("gate", "n", start=0)).held == 2
    assert "stream 'Tick' (0 events, 2 held back)" in refusal(engine, "DROP STREAM Tick").message
    gone = engine.execute("DROP STREAM Tick CASCADE")
    assert gone is not None
    assert gone.to_arrow()["held"].to_pylist() == [2]


def test_what_standing_statements_made_is_held_too(engine: Engine) -> None:
    engine.execute(TICK)
    made = engine.deploy("INSERT INTO Loud SELECT sym, price FROM Tick(price > 10)", name="loud")
    engine.load("Tick", ticks(11, 12, *[1] * 20))
    made.drain()
    made.stop()
    assert "derived stream 'Loud' (2 events)" in refusal(engine, "DROP STREAM Loud").message
    engine.execute("DROP STREAM Loud CASCADE")
    assert "Loud" not in engine.catalog.types


def test_what_holds_no_events_is_dropped_as_before(engine: Engine) -> None:
    engine.execute(f"{TICK}; DROP STREAM Tick; {TICK}")
    engine.execute("CREATE STATEMENT spikes AS SELECT sym FROM Tick")
    assert refusal(engine, "DROP STREAM Tick").code == "IN_USE"
    assert refusal(engine, "DROP STREAM Tock CASCADE").code == "UNKNOWN_OBJECT"
    engine.execute("DROP STATEMENT spikes; DROP STREAM Tick")
    assert entries(engine) == 6


def test_CASCADE_takes_what_inherits_and_what_that_feeds(engine: Engine) -> None:
    engine.execute(
        "CREATE SCHEMA Timed (at TIMESTAMP) EVENT TIME at; CREATE STREAM A (x INT) INHERITS Timed; "
        "CREATE STREAM B (y INT) INHERITS A; INSERT INTO C SELECT x FROM B; INSERT INTO D SELECT x FROM C"
    )
    engine.check("DROP SCHEMA Timed CASCADE; CREATE STREAM C (z INT, at TIMESTAMP) EVENT TIME at")
    gone = engine.execute("DROP SCHEMA Timed CASCADE")
    assert gone is not None
    assert gone.to_arrow()["name"].to_pylist() == ["D", "C", "B", "A", "Timed"]
    assert list(engine.catalog.types) == ["Event"]


# -- programs ---------------------------------------------------------------------------------------------------

PROGRAM = """
import sys, os, signal
import presage
with presage.Engine(home="home", driven=False, live=False) as engine:
    engine.execute('''{declarations};''')
    live = engine.deploy("SELECT sym FROM Tick(price > 100)", name="spikes")
    once = engine.deploy("SELECT sym FROM Tick WITHIN [2024-01-01, 2024-01-02)", name="bounded")
    day = sys.argv[1]
    engine.load("Tick", [{{"sym": "a", "price": 200.0, "at": f"2024-01-0{{day}}T00:00:00Z"}}], once=day)
    live.drain()
    once.drain()
    print(live.status.rows_out, once.status.rows_out, len(engine._deployments.job.statements), flush=True)
    if sys.argv[1] == "2":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_program_is_started_again_and_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.format(declarations=";".join([*EVERYTHING[:2], *FILES]).replace("'5 sec'", "'0 sec'"))
    said = []
    for day in ("1", "2", "3"):
        if day == "2":  # a process of its own, since it is killed
            run = subprocess.run([sys.executable, "-c", text, day], capture_output=True, text=True, check=False)
            assert run.returncode == -signal.SIGKILL, run.stderr
            said.append(run.stdout.split())
        else:
            monkeypatch.setattr(sys, "argv", ["program", day])
            exec(text, {})
            said.append(capsys.readouterr().out.split())
    # The statement's rows go on; the one that has ended is not deployed once more, and makes no row twice.
    assert said == [["1", "1", "2"], ["2", "1", "2"], ["3", "1", "2"]]
