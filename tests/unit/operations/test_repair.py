"""A home that was damaged: `presage log HOME repair` writes again what the rest tells, and names what is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from presage import Engine
from presage.live.shared_execution import LEAST_MEMBERS
from presage.operations.repair import Repair
from presage.operations.verification import Verification
from presage.storage.home_repair import Repaired
from recovery.store_home import STORED
from unit.operations.homes import TICK, fill, tick


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("closed") / "home"
    fill(home)
    return home


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("killed") / "home"
    fill(home, die=True)
    return home


def content(home: Path) -> dict[str, object]:
    """All rows, before and after some more events."""
    with Engine(home=home, live=False, driven=False) as engine:
        rows = {name: engine.deployments[name].table().to_pylist() for name in ("means", "hot")}
        found: dict[str, object] = {"rows": rows, "events": sorted(map(repr, engine.browse.newest("Tick").to_pylist()))}
        found["late"] = engine.late("Tick").to_pylist()
        found["rejected"] = engine.rejected("Tick").drop_columns(["at"]).to_pylist()
        found["derived"] = engine.query("SELECT sym, price FROM Hot").to_arrow().to_pylist()
        archive = engine._log.archive
        found["numbers"] = archive.read_arrow(archive.snapshot("#derived:Hot")).sort_by("_seq").to_pylist()
        engine.load("Tick", [tick(300), tick(310)])
        engine.deployments["hot"].drain()
        found["after"] = {name: engine.deployments[name].table().to_pylist() for name in ("means", "hot")}
        return found


def repaired(home: Path) -> list[Repaired]:
    """What the command does."""
    work = Repair(home)
    done = work.files()
    if not any(each.why_not for each in done):
        with Engine(home=home, live=False, driven=False) as engine:
            done += engine.repair(work)
    return done


LOG = "streams/Tick/events/_delta_log"


def entries(home: Path, log: str = LOG) -> list[Path]:
    return sorted((home / log).glob("*.json"))


def lose_last_entry(home: Path) -> None:
    entries(home)[-1].unlink()


def damage_last_entry(home: Path) -> None:
    path = entries(home)[-1]
    path.write_bytes(path.read_bytes().replace(b'"size"', b'"sise"', 1))


def damage_middle_entry(home: Path) -> None:
    entries(home)[2].write_text("{")


def lose_middle_entry(home: Path) -> None:
    entries(home)[2].unlink()


def lose_creation(home: Path) -> None:
    entries(home)[0].unlink()


def lose_log(home: Path) -> None:
    shutil.rmtree(home / LOG)


def lose_log_of_results(home: Path) -> None:
    shutil.rmtree(home / "results/events/_delta_log")


def lose_log_of_derived(home: Path) -> None:
    shutil.rmtree(home / "derived/Hot/events/_delta_log")


def lose_logs_of_late_and_rejected(home: Path) -> None:
    for table in ("late", "rejected"):
        shutil.rmtree(home / f"streams/Tick/{table}/_delta_log")


def damage_mark(home: Path) -> None:
    (home / "streams/Tick/stream.json").write_text("{")


def lose_mark(home: Path) -> None:
    (home / "streams/Tick/stream.json").unlink()


def folder_for_entry(home: Path) -> None:
    path = entries(home)[-1]
    path.unlink()
    path.mkdir()


def lose_states(home: Path) -> None:
    for path in (home / "states").glob("*.states"):
        path.unlink()


def damage_states(home: Path) -> None:
    for path in (home / "states").glob("*.states"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)


def lose_results(home: Path) -> None:
    sorted((home / "results/events").glob("*.parquet"))[1].unlink()


def damage_all_results(home: Path) -> None:
    for path in (home / "results/events").glob("*.parquet"):
        path.write_bytes(path.read_bytes() + b"more")


def lose_derived(home: Path) -> None:
    sorted((home / "derived/Hot/events").glob("*.parquet"))[0].unlink()


def damage_all_derived_and_results(home: Path) -> None:
    for path in (home / "derived/Hot/events").glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-3])
    damage_all_results(home)


def lose_results_and_states(home: Path) -> None:
    lose_states(home)
    sorted((home / "results/events").glob("*.parquet"))[-1].write_bytes(b"")


def lose_format(home: Path) -> None:
    (home / "presage.json").unlink()


def damage_format(home: Path) -> None:
    (home / "presage.json").write_text("{")


def damage_head(home: Path) -> None:
    for path in sorted((home / "journal").glob("head-*"))[-1:]:
        path.write_bytes(path.read_bytes()[:-9])


def folders_for_states(home: Path) -> None:
    for path in (home / "states").glob("*.states"):
        path.unlink()
        path.mkdir()


DAMAGES = [
    folders_for_states,
    damage_head,
    lose_format,
    damage_format,
    lose_results,
    damage_all_results,
    lose_results_and_states,
    lose_derived,
    damage_all_derived_and_results,
    lose_last_entry,
    damage_last_entry,
    damage_middle_entry,
    lose_middle_entry,
    lose_creation,
    lose_log,
    lose_log_of_results,
    lose_log_of_derived,
    lose_logs_of_late_and_rejected,
    damage_mark,
    lose_mark,
    folder_for_entry,
    lose_states,
    damage_states,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", ["closed", "killed"])
def test_what_the_log_tells_is_repaired_and_all_rows_are_as_before(
    damage: Callable[[Path], None], kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    whole = Path(shutil.copytree(request.getfixturevalue(kind), tmp_path / "whole"))
    home = Path(shutil.copytree(whole, tmp_path / "home"))
    damage(home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    planned = Repair(home, write=False).files()
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    done = repaired(home)
    assert [each.why_not for each in [*done, *planned] if each.why_not] == []
    assert list(Verification(home).findings()) == []
    assert content(home) == content(whole)


def test_a_sound_home_is_left_as_it_is(closed: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(closed, tmp_path / "home"))
    assert repaired(home) == []


def test_states_that_statements_share_are_computed_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = [f"w{n}" for n in range(2 * LEAST_MEMBERS)]
    with Engine(home=home, live=False, driven=False) as engine:
        engine.execute(TICK)
        for n, name in enumerate(names):
            engine.deploy(f"SELECT avg(price) AS mean FROM Tick(sym = 's{n % 3}')#time({60 + n} sec)", name)
        engine.load("Tick", [tick(second) for second in range(0, 90, 3)])
        engine.deployments["w0"].drain()
        assert any(engine.deployments.job.statements[number].shared for number in "12345")  # type: ignore[attr-defined]
        before = {name: engine.deployments[name].table() for name in names}
    damage_states(home)
    done = repaired(home)
    assert len(done) == len(names)
    assert list(Verification(home).findings()) == []
    with Engine(home=home, live=False, driven=False) as engine:
        assert {name: engine.deployments[name].table() for name in names} == before


@pytest.mark.parametrize("stored", sorted(path.name for path in STORED.iterdir()))
def test_homes_of_earlier_versions_are_left_as_they_are(stored: str, tmp_path: Path) -> None:
    home = Path(shutil.copytree(STORED / stored, tmp_path / "home"))
    assert Repair(home, write=False).files() == []
    assert repaired(home) == []


def test_what_no_other_file_tells_is_named_and_left(closed: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(closed, tmp_path / "home"))
    data = min((home / "streams/Tick/events").glob("*.parquet"))
    data.write_bytes(data.read_bytes()[:-20])
    assert repaired(home) == []
    findings = list(Verification(home).findings())
    assert findings[0].where == f"streams/Tick/events/{data.name}"
    assert "it holds 4 rows of events of 'Tick', 2024-03-01T09:0" in findings[0].what
    declaration = min((home / "catalog").glob("*.json"))
    declaration.write_text("{")
    (refused,) = [each for each in repaired(home) if each.where.startswith("catalog")]
    assert refused.why_not == "its record is covered by the journal's head"
    assert data.exists()


def test_a_statement_whose_input_is_gone_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Engine(home=home, live=False, driven=False) as engine:
        engine.execute("CREATE STREAM Pulse (n INT, at TIMESTAMP) EVENT TIME at WITH (retention = '1 sec');")
        engine.deploy("SELECT sum(n) AS s FROM Pulse#length(3)", "sums")
        for second in range(0, 40, 10):
            engine.load("Pulse", [{"n": second, "at": f"2024-03-01T09:00:{second:02d}Z"}])
            engine.deployments["sums"].drain()
        assert engine.maintain(grace=0).removed
    damage_states(home)
    (lost,) = repaired(home)
    assert "deploy it again" in lost.why_not
