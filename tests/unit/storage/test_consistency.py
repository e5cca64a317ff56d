"""A home that is opened has all that its journal says: what is lost is done again, or refused by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.operations.verification import Verification
from presage.storage import Log
from presage.storage.delta_log import entry_path
from recovery.crashing import row, stream

TICK = stream()


def fill(home: Path, closed: bool) -> None:
    log = Log.open(home, durable=False)
    log.append_catalog("create", "CreateStream", "Tick", "CREATE STREAM Tick (…)", creates=[TICK])
    log.append_catalog("create", "CreateRelation", "Few", "CREATE RELATION Few (…)")
    for n in range(4):
        log.append(TICK, [row(n, n)])
    if closed:
        log.close()
    log.home.unlock()


def values(home: Path) -> tuple[list[int], list[str]]:
    with Log.open(home, durable=False) as log:
        rows = log.archive.read_arrow(log.archive.snapshot("Tick"))["x"].to_pylist()
        return rows, [entry.name for entry in log.catalog_entries()]


def events(home: Path) -> Path:
    return home / "streams/Tick/events"


def lose_last(home: Path) -> None:
    entry_path(events(home), 4).unlink()


def lose_two(home: Path) -> None:
    entry_path(events(home), 4).unlink()
    entry_path(events(home), 3).unlink()


def lose_declaration(home: Path) -> None:
    (home / "catalog" / f"{2:014d}.json").unlink()


def copy_over_last(home: Path) -> None:
    shutil.copy(entry_path(events(home), 3), entry_path(events(home), 4))


def swap_last(home: Path) -> None:
    third, fourth = (entry_path(events(home), n).read_bytes() for n in (3, 4))
    entry_path(events(home), 3).write_bytes(fourth)
    entry_path(events(home), 4).write_bytes(third)


def creation_over_one(home: Path) -> None:
    shutil.copy(entry_path(events(home), 0), entry_path(events(home), 2))


def widen(home: Path) -> None:
    """What the entry says of the file is changed: queries would pass it over."""
    path = entry_path(events(home), 4)
    path.write_text(path.read_text().replace("2024-01-01T00:00:03", "2034-01-01T00:00:03"))


def lose_stream(home: Path) -> None:
    shutil.rmtree(home / "streams/Tick")


def lose_record(home: Path) -> None:
    for path in (home / "journal").glob(f"{6:014d}.*"):
        path.unlink()


def later_declaration(home: Path) -> None:
    content = json.loads((home / "catalog" / f"{2:014d}.json").read_text())
    del content["crc"]
    (home / "catalog" / f"{3:014d}.json").write_text(json.dumps({**content, "version": 3}))


def swap_files(home: Path) -> None:
    one, other = sorted(events(home).glob("*.parquet"))[:2]
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)


WHOLE = ([0, 1, 2, 3], ["Tick", "Few"])


@pytest.mark.parametrize("lose", [lose_last, lose_two, lose_declaration])
def test_what_the_records_still_say_is_done_again(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    fill(tmp_path / "home", closed=False)
    lose(tmp_path / "home")
    assert values(tmp_path / "home") == WHOLE
    assert not list(Verification(tmp_path / "home").findings())


@pytest.mark.parametrize("lose", [lose_last, lose_two, lose_declaration, lose_stream, later_declaration, lose_record])
def test_what_no_record_says_any_more_is_refused_by_name(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    fill(tmp_path / "home", closed=lose is not lose_record)
    lose(tmp_path / "home")
    with pytest.raises(PresageError, match=r"Tick|catalog entry") as refused:
        Log.open(tmp_path / "home")
    assert refused.value.code == "HOME_CORRUPT"


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("change", [copy_over_last, swap_last, creation_over_one, widen])
def test_an_entry_that_is_not_what_was_written_is_refused(
    tmp_path: Path, closed: bool, change: Callable[[Path], None]
) -> None:
    fill(tmp_path / "home", closed)
    change(tmp_path / "home")
    with pytest.raises(PresageError, match=r"the Delta log in the home .*Tick/events.*entry") as refused:
        Log.open(tmp_path / "home")
    assert refused.value.code == "HOME_CORRUPT"
    assert [finding.where for finding in Verification(tmp_path / "home").findings()][:1] == ["streams/Tick/events"]


def test_a_data_file_in_the_place_of_another_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "home", closed=True)
    swap_files(tmp_path / "home")
    with Log.open(tmp_path / "home") as log, pytest.raises(PresageError, match="place of another") as refused:
        log.archive.read_arrow(log.archive.snapshot("Tick"))
    assert refused.value.code == "HOME_CORRUPT"


def as_before(home: Path) -> None:
    """The home as the version before checksums would have left it."""
    for path in [*(home / "journal").iterdir(), *(home / "catalog").iterdir(), home / "streams/Tick/stream.json"]:
        content = json.loads(path.read_text())
        del content["crc"]
        content.pop("tables", None)
        for stream_state in content.get("state", {}).get("streams", {}).values():
            del stream_state["changes"]
        path.write_text(json.dumps(content))
    for path in home.glob("streams/*/*/_delta_log/*.json"):
        first, rest = path.read_text().split("\n", 1)
        told = json.loads(first)
        told.get("commitInfo", {}).pop("presage", None)
        path.write_text(json.dumps(told) + "\n" + rest)


@pytest.mark.parametrize("closed", [True, False])
def test_a_home_without_checksums_opens_and_is_compared_from_then_on(tmp_path: Path, closed: bool) -> None:
    fill(tmp_path / "home", closed)
    as_before(tmp_path / "home")
    assert values(tmp_path / "home") == WHOLE
    lose_last(tmp_path / "home")
    with pytest.raises(PresageError, match="table 'events' of 'Tick'"):
        Log.open(tmp_path / "home")


def test_a_closed_home_without_checksums_that_has_lost_rows_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "home", closed=True)
    as_before(tmp_path / "home")
    lose_last(tmp_path / "home")
    with pytest.raises(PresageError, match=r"3 rows, the journal .* 4 rows"):
        Log.open(tmp_path / "home")
