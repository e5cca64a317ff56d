"""Names that differ only in case are two things: streams, relations, statements, sinks, models; also on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import Engine, PresageError
from presage.storage.file_store import FileStore
from presage.storage.home import DERIVED, HomeLayout

STREAMS = """
CREATE STREAM G (v INT, at TIMESTAMP) EVENT TIME at;
CREATE STREAM g (v INT, w INT, at TIMESTAMP) EVENT TIME at;
CREATE RELATION r (v INT) VALUES (1);
CREATE RELATION R (v INT, x INT) VALUES (2, 3);
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with opened(home) as made:
        made.execute(STREAMS)
        yield made


def opened(home: Path) -> Engine:
    return Engine(home=home, live=False, driven=False, allow_hosts=["localhost"])


def event(v: int, second: int, **more: int) -> list[dict[str, object]]:
    return [{"v": v, **more, "at": f"2024-03-01T09:00:{second:02}Z"}]


def numbers(engine: Engine, query: str) -> list[int]:
    live = engine.deploy(f"{query} WITHIN [, )")
    live.drain()
    return [row["v"] for row in live.results()]


def folded(folder: Path) -> list[str]:
    return sorted(name.lower() for name in os.listdir(folder))


def test_streams_are_told_apart_in_rows_and_on_disk(engine: Engine, home: Path) -> None:
    engine.load("G", event(1, 0))
    engine.load("g", event(2, 1, w=5))
    assert (numbers(engine, "SELECT v FROM G"), numbers(engine, "SELECT v FROM g")) == ([1], [2])
    assert "G" in os.listdir(home / "streams")
    assert len(set(folded(home / "streams"))) == 2, "some file systems do not tell names apart by case"


def test_a_home_with_such_names_opens_again(engine: Engine, home: Path) -> None:
    engine.load("G", event(1, 0))
    engine.deploy("SELECT v FROM G WITHIN [, )", "s")
    engine.deploy("SELECT v FROM g WITHIN [, )", "S")
    engine.deploy("INSERT INTO made SELECT v FROM G WITHIN [, )", "m1").drain()
    engine.deploy("INSERT INTO Made SELECT w AS v FROM g WITHIN [, )", "m2").drain()
    assert len(set(folded(home / "derived"))) == 2
    engine.close()
    with opened(home) as again:
        assert set(again.catalog.types) >= {"G", "g", "made", "Made"}
        assert set(again.catalog.relations) == {"r", "R"}
        again.load("g", event(2, 1, w=5))
        for name, expected in (("s", [1]), ("S", [2]), ("m2", [5])):
            again.deployments[name].drain()
            assert [row["v"] for row in again.deployments[name].results()] == expected
        assert numbers(again, "SELECT v FROM Made") == [5]


def test_dropping_one_leaves_the_other(engine: Engine, home: Path) -> None:
    engine.load("g", event(2, 1, w=5))
    engine.execute("DROP STREAM G; DROP RELATION r;")
    assert list(engine.catalog.relations) == ["R"]
    engine.execute("CREATE STREAM G (z INT, at TIMESTAMP) EVENT TIME at;")
    assert numbers(engine, "SELECT v FROM g") == [2]
    assert numbers(engine, "SELECT z AS v FROM G") == []
    assert len(set(folded(home / "streams"))) == 2


def test_statements_and_sinks_may_differ_in_case(engine: Engine) -> None:
    engine.execute("CREATE STATEMENT one AS SELECT v FROM G; CREATE STATEMENT One AS SELECT w FROM g;")
    engine.execute("CREATE SINK out FROM one WITH (sink = 'webhook', url = 'http://localhost:1/a');")
    engine.execute("CREATE SINK Out FROM One WITH (sink = 'webhook', url = 'http://localhost:1/a');")
    assert {"out", "Out"} <= set(engine.catalog.sinks)
    assert set(engine.deployments) == {"one", "One"}


def test_the_same_name_is_refused_whatever_it_was(engine: Engine) -> None:
    for text in ("CREATE STREAM r (at TIMESTAMP) EVENT TIME at", "CREATE RELATION g (v INT) VALUES (1)"):
        with pytest.raises(PresageError) as caught:
            engine.execute(text)
        assert caught.value.code == "ALREADY_DECLARED"


def test_columns_of_rows_may_differ_in_case(engine: Engine) -> None:
    engine.load("g", event(2, 1, w=5))
    live = engine.deploy("SELECT v AS x, w AS X FROM g WITHIN [, )", "both")
    live.drain()
    assert [(row["x"], row["X"]) for row in live.results()] == [(2, 5)]
    with pytest.raises(PresageError) as caught:
        engine.execute("INSERT INTO Both SELECT v AS x, w AS X FROM g")
    assert (caught.value.code, "Delta" in caught.value.message) == ("DIFFERS_IN_CASE", True)


def test_a_folder_that_is_there_stays_the_streams_own(tmp_path: Path) -> None:
    """A home from before names could differ in case has plain folders, of dropped streams, too."""
    places = HomeLayout(FileStore(), tmp_path)
    for folder in ("streams/Tick", "streams/tick", "derived/Made"):
        (tmp_path / folder).mkdir(parents=True)
    assert places.stream_folder("Tick") == tmp_path / "streams" / "Tick"
    assert places.stream_folder("tick") == tmp_path / "streams" / "tick"
    assert places.stream_folder("TICK").name.startswith("TICK~~")
    assert places.stream_folder(DERIVED + "made").name.startswith("made~~")
    assert places.stream_folder("made") == tmp_path / "streams" / "made"
