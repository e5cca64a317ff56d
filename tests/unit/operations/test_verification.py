"""A home that was damaged, in each way: what `presage log HOME verify` finds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from presage import Engine
from presage.operations import verification as verifying
from presage.operations.verification import Finding, Numbers, Verification
from presage.storage.home import FORMAT_FILE
from recovery.living import Living
from unit.operations.homes import fill, tick

FLOOR = """{"states": ["hall", "lab"], "transition": [[0.9, 0.1], [0.1, 0.9]],
 "emission": {"kind": "discrete", "table": {"hall": {"A": 0.5}, "lab": {"A": 0.1}}}}"""
DECLARED = """
CREATE RELATION Room (location STRING) FROM 'room.csv';
CREATE MODEL floor FROM 'floor.json';
CREATE KNOWLEDGE campus FROM 'campus.ttl';
CREATE KNOWLEDGE old FROM 'old.ttl';
DROP KNOWLEDGE old;
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sound") / "home"
    fill(home)
    return home


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "home"))


def found(home: Path, quick: bool = False) -> list[Finding]:
    return list(Verification(home, quick).findings())


def data(home: Path, stream: str = "streams/Tick", table: str = "events") -> list[Path]:
    return sorted((home / stream / table).glob("*.parquet"))


@pytest.mark.parametrize("quick", [False, True])
def test_a_sound_home_has_no_findings_and_all_of_it_is_read(home: Path, quick: bool) -> None:
    verification = Verification(home, quick)
    assert list(verification.findings()) == []
    checked = verification.checked
    assert checked.tables >= 5
    assert checked.files >= 8
    assert checked.rows >= 12 + 1 + 1
    assert checked.states >= 1


def remove_file(home: Path) -> None:
    data(home)[0].unlink()


def cut_file(home: Path) -> None:
    path = data(home)[0]
    path.write_bytes(path.read_bytes()[:-20])


def lose_rows(home: Path) -> None:
    path = data(home)[0]
    pq.write_table(pq.read_table(path).slice(1), path)


def change_number(home: Path) -> None:
    path = data(home)[1]
    rows = pq.read_table(path)
    numbers = pa.array([1, *rows["_seq"].to_pylist()[1:]], pa.int64())
    pq.write_table(rows.set_column(0, "_seq", numbers), path)


def change_time(home: Path) -> None:
    path = data(home)[0]
    rows = pq.read_table(path)
    earlier = pa.array([0] * rows.num_rows).cast(rows["_t"].type)
    pq.write_table(rows.set_column(1, "_t", earlier), path)


def drop_column(home: Path) -> None:
    path = data(home)[0]
    pq.write_table(pq.read_table(path).drop_columns(["price"]), path)


def flip_values(home: Path) -> None:
    path = data(home)[0]
    content = bytearray(path.read_bytes())
    content[60:90] = b"\xff" * 30
    path.write_bytes(bytes(content))


def forget_commit(home: Path) -> None:
    log = home / "streams/Tick/events/_delta_log"
    max(log.glob("*.json")).unlink()


def break_delta_log(home: Path) -> None:
    min((home / "streams/Tick/events/_delta_log").glob("*.json")).write_text("{")


def remove_stream(home: Path) -> None:
    shutil.rmtree(home / "streams/Tick")


def remake_stream(home: Path) -> None:
    (home / "streams/Tick/stream.json").write_text(json.dumps({"stream": "Tick", "generation": 99}))


def lose_state(home: Path) -> None:
    for path in (home / "states").glob("*.states"):
        path.unlink()


def damage_state(home: Path) -> None:
    for path in (home / "states").glob("*.states"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(bytes(content))


def lose_declaration(home: Path) -> None:
    min((home / "catalog").glob("*.json")).unlink()


def damage_declaration(home: Path) -> None:
    min((home / "catalog").glob("*.json")).write_text("{")


def damage_head(home: Path) -> None:
    next((home / "journal").glob("head-*")).write_text("{}")


def lose_head(home: Path) -> None:
    for path in (home / "journal").iterdir():
        path.unlink()


def lose_late_rows(home: Path) -> None:
    for path in data(home, table="late"):
        path.unlink()


def lose_derived_rows(home: Path) -> None:
    data(home, "derived/Hot")[0].unlink()


def lose_results(home: Path) -> None:
    data(home, "results")[0].unlink()


def lose_late_table(home: Path) -> None:
    shutil.rmtree(home / "streams/Tick/late")


def replace_journal(home: Path) -> None:
    shutil.rmtree(home / "journal")
    (home / "journal").write_text("")


def add_declaration(home: Path) -> None:
    (home / "catalog" / f"{77:014d}.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (remove_file, "is missing"),
        (cut_file, "bytes"),
        (lose_rows, "holds 3 rows, its table says 4"),
        (change_number, "outside of the statistics"),
        (change_time, "_t has values outside"),
        (drop_column, "no column 'price'"),
        (flip_values, "cannot be read"),
        (forget_commit, "the journal says 12"),
        (break_delta_log, "Delta log"),
        (remove_stream, "the folder of stream 'Tick' is missing"),
        (remake_stream, "was made by record 99"),
        (lose_state, "it is missing"),
        (damage_state, "checksum"),
        (lose_declaration, "a declaration is missing"),
        (damage_declaration, "a declaration cannot be read"),
        (damage_head, "the journal's head"),
        (lose_head, "the journal in the home"),
        (lose_late_rows, "is missing"),
        (lose_derived_rows, "is missing"),
        (lose_results, "is missing"),
        (lose_late_table, "table 'late' of 'Tick' is missing"),
        (replace_journal, "cannot be read"),
        (add_declaration, "00000000000077.json"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_damage_is_found_and_named(home: Path, damage: Callable[[Path], None], says: str) -> None:
    damage(home)
    findings = found(home)
    assert any(says in finding.what for finding in findings), findings
    assert all(finding.where and finding.fix for finding in findings)


@pytest.mark.parametrize("place", ["relations", "models", "knowledge/files"])
@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-9])])
def test_what_the_files_of_declarations_held_is_looked_at_too(
    place: str, lose: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "room.csv").write_text("location\nr1\n")
    (tmp_path / "campus.ttl").write_text("<http://x/a> <http://x/in> <http://x/b> .")
    (tmp_path / "old.ttl").write_text("<http://x/a> <http://x/in> <http://x/c> .")
    (tmp_path / "floor.json").write_text(FLOOR)
    home = tmp_path / "home"
    with Engine(home=home, live=False, driven=False, roots=[tmp_path]) as engine:
        engine.execute(DECLARED)
    assert found(home) == []
    for path in (home / place).iterdir():
        lose(path)
    (finding,) = found(home)
    assert finding.where.startswith(f"{place}/")
    assert (home / finding.where).parent == home / place


def test_a_number_that_two_events_have_and_one_that_none_has_are_found() -> None:
    import numpy as np

    numbers = Numbers(20)
    assert list(numbers.add("a", np.array([1, 2, 3, 9, 10, 21]))) == []
    (twice,) = numbers.add("b", np.array([3, 4, 4]))
    assert "2 of its numbers" in twice.what
    (missing,) = numbers.missing()
    assert "14 are missing, 5 is the first" in missing.what


def test_a_home_that_has_let_events_go_by_intent_misses_none(home: Path) -> None:
    with Living(home) as living:
        living.log.drop_stream("Tick")
    entry = {"version": 99, "seq": 0, "action": "drop", "kind": "Drop", "name": "Tick", "text": "DROP STREAM Tick"}
    (home / "catalog" / f"{99:014d}.json").write_text(json.dumps(entry))
    assert [f for f in found(home) if "broken" in f.what] == []


def test_what_was_written_and_not_carried_out_is_no_damage(tmp_path: Path) -> None:
    fill(tmp_path / "home", die=True)
    assert found(tmp_path / "home") == []


def test_beside_an_engine_that_goes_on_nothing_is_found_wrong(home: Path) -> None:
    with Living(home) as living:
        for second in range(200, 260, 10):
            living.load("Tick", [tick(second)])
            living.drain()
            assert found(home) == []
        living.log.maintain([living.stream("Tick")], living.deployments.in_use(), grace=0)
        assert found(home) == []


def test_a_file_that_was_compacted_and_deleted_meanwhile_is_not_missed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Living(home) as living:
        for second in range(200, 260, 2):
            living.load("Tick", [tick(second)])
        real = verifying.Verification._file

        def late(self: Verification, path: Path, *rest: object) -> object:
            living.log.maintain([living.stream("Tick")], living.deployments.in_use(), grace=0)
            living.log.maintain([living.stream("Tick")], living.deployments.in_use(), grace=0)
            assert len(data(home)) < 10
            return real(self, path, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(verifying.Verification, "_file", late)
        assert [f for f in found(home) if "Tick" in f.where] == []


def test_what_is_no_home_is_an_error_and_no_finding(tmp_path: Path) -> None:
    from presage.errors import PresageError

    with pytest.raises(PresageError, match=FORMAT_FILE):
        found(tmp_path)
