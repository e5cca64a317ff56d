"""A home that was damaged: `presage log HOME repair` writes again what the rest tells, and names what is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from presage import Engine
from presage.operations.repair import Repair
from presage.operations.verification import Verification
from presage.storage.home_repair import Repaired
from unit.operations.homes import fill, tick


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
