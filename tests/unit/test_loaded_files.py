"""Files that an engine loads: allowed roots and links, texts that mean null, Delta tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from presage import Engine
from presage.cli.checking import check_file
from presage.cli.server_engine import Opening
from presage.console.gate import Gate
from presage.errors import PresageError
from presage.model.catalog import Attribute
from presage.model.paths import Roots, read_text
from presage.model.types import LONG, STRING
from presage.scenarios import run_scenarios
from presage.storage.text_csv import read_csv, read_csv_carefully, read_header
from presage.workspace import Workspace
from unit.storage.delta_tables import compact, write

TICK = "CREATE STREAM Tick (x LONG, s STRING, at TIMESTAMP) EVENT TIME at"
ROWS = "x,s,at\n1,a,2024-01-01T00:00:00Z\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder `in`, beside it `out` with a file; a link in `in/linked` leads there."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside, inside / "linked"):
        folder.mkdir()
    (outside / "secret.csv").write_text(ROWS)
    (outside / "m.json").write_text("{}")
    os.symlink(outside / "secret.csv", inside / "linked" / "a.csv")
    os.symlink(outside, inside / "folder")
    monkeypatch.chdir(inside)
    return tmp_path


@pytest.fixture
def bounded(place: Path) -> Iterator[Engine]:
    with Engine(roots=[place / "in"], live=False, driven=False) as engine:
        engine.execute(TICK)
        yield engine


def code_of(engine: Engine, text: str) -> str:
    with pytest.raises(PresageError) as raised:
        engine.execute(text)
    return raised.value.code


# -- roots --------------------------------------------------------------------------------------------------


def test_a_program_of_the_users_own_reads_what_the_user_may_read(place: Path) -> None:
    with Engine(live=False, driven=False) as engine:
        engine.execute(f"{TICK}; CREATE RELATION R (x LONG, s STRING, at STRING) FROM '{place / 'out' / 'secret.csv'}'")
        assert engine.load("Tick", place / "out" / "secret.csv").accepted == 1
        assert engine.load("Tick", "linked").accepted == 1
        assert engine.load("Tick", "../out/secret.csv").accepted == 1


@pytest.mark.parametrize(
    "path", ["linked", "folder", "folder/secret.csv", "../out", "../out/secret.csv", "linked/a.csv"]
)
def test_with_roots_no_link_and_no_path_leads_out_of_them(bounded: Engine, place: Path, path: str) -> None:
    for spelled in (path, str(place / "in" / path)):
        with pytest.raises(PresageError) as refused:
            bounded.load("Tick", spelled)
        assert refused.value.code == "PATH_OUTSIDE_ROOTS"
        assert code_of(bounded, f"CREATE RELATION R (x LONG) FROM '{spelled}'") == "PATH_OUTSIDE_ROOTS"
    assert "R" not in bounded.catalog.relations


def test_with_roots_contexts_models_and_knowledge_stay_inside_too(bounded: Engine) -> None:
    for text in (
        "CREATE MODEL m FROM 'folder/m.json'",
        "CREATE KNOWLEDGE k FROM 'folder/m.json'",
        "CREATE STREAM C (at TIMESTAMP) EVENT TIME at CONTEXT 'folder/m.json'",
        "CREATE STREAM F (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = 'folder')",
    ):
        assert code_of(bounded, text) == "PATH_OUTSIDE_ROOTS", text


def test_a_file_that_becomes_a_link_after_it_was_checked_is_not_read(place: Path) -> None:
    roots, path = Roots((place / "in",)), place / "in" / "a.csv"
    path.write_text(ROWS)
    found = roots.resolve("a.csv", place / "in")
    path.unlink()
    os.symlink(place / "out" / "secret.csv", path)
    with pytest.raises(PresageError) as refused, roots.opened(found):
        pass
    assert refused.value.code == "PATH_OUTSIDE_ROOTS"
    with pytest.raises(PresageError):
        read_text(str(found), roots)


def test_knowledge_whose_file_becomes_a_link_is_not_refreshed_from_outside(bounded: Engine, place: Path) -> None:
    path = place / "in" / "k.ttl"
    path.write_text("<http://x/a> <http://x/b> <http://x/c> .")
    (place / "out" / "k.ttl").write_text("<http://x/a> <http://x/b> <http://x/secret> .")
    bounded.execute("CREATE KNOWLEDGE k FROM 'k.ttl'")
    path.unlink()
    os.symlink(place / "out" / "k.ttl", path)
    assert code_of(bounded, "REFRESH KNOWLEDGE k") == "PATH_OUTSIDE_ROOTS"


def test_a_pipe_is_no_file_and_is_not_waited_for(place: Path, bounded: Engine) -> None:
    os.mkfifo(place / "in" / "pipe.csv")
    with pytest.raises(PresageError, match="it is no file"):
        bounded.load("Tick", "pipe.csv")


def test_what_others_send_to_serve_is_bounded_by_its_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    class Recorded(Exception):  # noqa: N818
        """Enough is known."""

    def engine(**given: Any) -> Engine:
        made.append(given)
        raise Recorded

    monkeypatch.setattr("presage.engine.Engine", engine)
    opening = Opening(Gate(), place / "home", [], lambda: None)
    opening.start()
    opening.close()
    assert isinstance(opening.failure, Recorded)
    assert made[0]["roots"] == [place / "in", place / "home"]


def test_check_and_scenarios_take_the_users_own_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = place / "out" / "secret.csv"
    text = f"CREATE RELATION R (x LONG, s STRING, at STRING) FROM '{secret}';"
    text += "CREATE STREAM T (at TIMESTAMP) EVENT TIME at; SELECT at FROM T;"
    (place / "in" / "own.epl").write_text(text)
    check_file("own.epl")
    assert "no errors" in capsys.readouterr().out
    (place / "in" / "own.epl").write_text(f"{text} ASSERT query_1 EMPTY;")
    (outcome,) = run_scenarios("own.epl")
    assert outcome.failure is None


# -- texts that mean null -----------------------------------------------------------------------------------

NULLS = b'x,s\n1,a\nNA,b\n NA ,"NA"\nN/A,-\nx,c\n'
ATTRIBUTES = (Attribute("x", LONG), Attribute("s", STRING))


@pytest.mark.parametrize("data", [NULLS, NULLS.replace(b'"', b"")])
def test_texts_that_mean_null_are_null_however_the_file_is_read(data: bytes) -> None:
    header = read_header(data, "f")
    assert header is not None
    given = "f", header.names, ATTRIBUTES, None, header.lines, ["NA", "N/A"]
    for checked in (
        read_csv(data, "f", ATTRIBUTES, None, ["NA", "N/A"]),
        read_csv_carefully(data[header.size :], *given),
    ):
        assert [tuple(row.values()) for row in checked.table.to_pylist()] == [
            (1, "a"),
            (None, "b"),
            (None, None),
            (None, "-"),
        ]
        assert checked.rejected.origins == ["f:6"]


def test_streams_loads_and_relations_take_them(place: Path) -> None:
    (place / "in" / "t.csv").write_text(ROWS + "NA,b,2024-01-01T00:00:01Z\n")
    with Engine(live=False, driven=False) as engine:
        engine.execute(f"{TICK}; {TICK.replace('Tick', 'Tock')} WITH (nulls = 'NA, -')")
        assert (engine.load("Tick", "t.csv").rejected, engine.load("Tock", "t.csv").rejected) == (1, 0)
        assert engine.load("Tick", "t.csv", nulls=["NA"]).rejected == 0
        assert engine.load("Tock", "t.csv", nulls="?").rejected == 1
        columns = "(x LONG, s STRING, at STRING)"
        assert code_of(engine, f"CREATE RELATION R {columns} FROM 't.csv'") == "DATA_SHAPE"
        engine.execute(f"CREATE RELATION R {columns} FROM 't.csv' WITH (nulls = 'NA')")
        assert code_of(engine, f"CREATE RELATION Q {columns} FROM 't.csv' WITH (null = 'NA')") == "UNKNOWN_OPTION"
        assert code_of(engine, f"{TICK.replace('Tick', 'Tack')} WITH (nulls = ' , ')") == "BAD_VALUE"


def test_rows_say_what_was_rejected_and_late(place: Path) -> None:
    with Engine(live=False, driven=False) as engine:
        engine.execute(f"{TICK}; {TICK.replace('Tick', 'Tock')}")
        rows = [{"x": 1, "s": "<b>", "at": "2024-01-02"}, {"x": "much", "at": "2024-01-02"}]
        engine.load("Tick", rows)
        engine.load("Tick", [{"x": 1, "at": "2024-01-01"}])
        engine.load("Tock", rows[:1])
        query = "SELECT x FROM {} MATCH_RECOGNIZE (MEASURES A.x AS x PATTERN (A))"
        result = engine.query(query.format("Tick"))
        assert result.remarks == ("Tick: 1 rejected, 1 late when they were loaded, so not in these rows",)
        assert repr(result).endswith("; " + result.remarks[0])
        assert f"<p>{result.remarks[0]}</p>" in result._repr_html_()
        assert engine.query(query.format("Tock")).remarks == ()
        assert engine.deploy("SELECT x FROM Tick", name="live").results().remarks == result.remarks


# -- Delta tables -------------------------------------------------------------------------------------------


def test_a_delta_folder_counts_once_in_loads_and_relations(place: Path) -> None:
    folder = place / "in" / "ticks"
    write(folder, 1, 2)
    write(folder, 3)
    compact(folder)
    with Engine(live=False, driven=False) as engine:
        engine.execute(f"{TICK}; CREATE RELATION R (x LONG) FROM 'ticks'")
        assert engine.load("Tick", "ticks").accepted == 3
        assert sorted(engine._parts.tables.relations["R"]["x"].to_pylist()) == [1, 2, 3]
        assert Workspace(None, place / "in").allowed.resolve("ticks", place / "in") == folder
        assert engine.load("Tick", pa.table({"x": [4], "at": ["2024-01-02T00:00:00Z"]})).accepted == 1
