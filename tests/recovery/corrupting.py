"""Homes to damage, the damage, and what a user does with a damaged home."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presage import Engine
from presage.errors import PresageError
from presage.operations.export import Export, ExportRequest
from presage.operations.repair import Repair
from presage.operations.status import status_of
from presage.operations.verification import Verification
from recovery.ticks import MATCHING, STATEMENTS, STREAMS, quotes, ticks

CONTROL = (".", "lock")  # nothing of what is in the file `lock` is believed
DEPLOYED = ("filter", "window", "hot", "over")
MORE = """
CREATE RELATION Limits (sym STRING, most DOUBLE) FROM 'limits.csv';
CREATE RELATION Few (sym STRING) VALUES ('a'), ('b');
"""


def opened(home: Path) -> Engine:
    return Engine(home=home, live=False, driven=False, roots=[home.parent, home])


def make_homes(folder: Path) -> list[Path]:
    """The same home twice: as a killed engine leaves it, with records since the head, and as a closed one."""
    killed, closed = folder / "killed", folder / "closed"
    (folder / "limits.csv").write_text("sym,most\na,1.5\nb,2.5\n")
    with opened(closed) as engine:
        engine.execute(STREAMS + MORE)
        engine.load("Tick", ticks(0, 6), "t0")
        engine.load("Quote", quotes(0, 5))
        for name in DEPLOYED:
            engine.deploy(STATEMENTS[name], name)
        for n in range(9, 33, 6):
            engine.load("Tick", [*ticks(n, 6), {"sym": "x", "price": "much", "at": "never"}])
            engine.deployments["over"].drain()
        engine.maintain(grace=0)
        engine.load("Quote", quotes(18, 9))
        engine.load("Tick", ticks(40, 6), "t3")
        engine.deployments["over"].drain()
        shutil.copytree(closed, killed)
    return [killed, closed]


def files_of(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file() and path.name not in CONTROL)


def damage(home: Path, choice: random.Random) -> str:
    """Do something to a file of the home; says what."""
    files = files_of(home)
    # By folder first: most files are data files, and others are as much in the way of things.
    place = choice.choice(sorted({path.parent for path in files}))
    path = choice.choice([file for file in files if file.parent == place])
    data, kind = path.read_bytes(), choice.choice([*KINDS])
    others = [file for file in files if file != path and file.suffix == path.suffix]
    other = choice.choice([file for file in others if file.parent == place] or others or [path])
    theirs = other.read_bytes() if other.is_file() else data
    path.unlink()  # it may be a link to the file of the home that is kept
    changed = KINDS[kind](data, theirs, choice)
    if changed is not None:
        path.write_bytes(changed)
    if kind == "folder":
        path.mkdir()
    if kind == "swap" and other != path:
        other.unlink()
        other.write_bytes(data)
    return f"{kind} {path.relative_to(home)} ({len(data)} bytes; {other.relative_to(home)})"


def _flip(data: bytes, other: bytes, choice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice([1, 1, 1, 8])):
        if changed:
            changed[choice.randrange(len(changed))] ^= 1 << choice.randrange(8)
    return bytes(changed)


def _zero(data: bytes, other: bytes, choice: random.Random) -> bytes:
    start = choice.randrange(len(data) + 1)
    count = min(choice.choice([1, 16, 512, 4096]), len(data) - start)
    return data[:start] + bytes(count) + data[start + count :]


# What becomes of the bytes of a file, given those of another; None: the file is gone.
KINDS: dict[str, Callable[[bytes, bytes, random.Random], bytes | None]] = {
    "flip": _flip,
    "zero": _zero,
    "truncate": lambda data, other, choice: data[: choice.randrange(len(data) + 1)],
    "empty": lambda data, other, choice: b"",
    "append": lambda data, other, choice: data + choice.randbytes(choice.randrange(1, 64)),
    "copy another over": lambda data, other, choice: other,
    "swap": lambda data, other, choice: other,
    "delete": lambda data, other, choice: None,
    "folder": lambda data, other, choice: None,
}


def seen(home: Path) -> dict[str, Any]:
    """All rows that an engine shows of a home, and what it makes of some more."""
    with opened(home) as engine:
        rows = {name: engine.deployments[name].table().to_pylist() for name in DEPLOYED}
        rows["falls"] = engine.query(MATCHING["falls"]).to_arrow().to_pylist()
        for stream in ("Tick", "Quote"):
            rows[stream] = sorted(map(repr, engine.browse.newest(stream).to_pylist()))
            rows[f"late {stream}"] = engine.late(stream).to_pylist()
            rows[f"rejected {stream}"] = engine.rejected(stream).drop_columns(["at"]).to_pylist()
        rows["relations"] = [repr(table) for table in engine._parts.tables.relations.values()]
        rows["catalog"] = sorted(engine.catalog.types), sorted(engine.catalog.relations)
        engine.load("Tick", ticks(50, 6), "t3")  # known: nothing happens
        engine.load("Tick", ticks(50, 6), "t4")
        for name in DEPLOYED:
            engine.deployments[name].drain()
        rows["after"] = [engine.deployments[name].table().to_pylist() for name in DEPLOYED]
        engine.maintain(grace=0)
        return rows


def looked_at(home: Path) -> list[str]:
    """What commands without an engine do; what `verify` found."""
    found = [finding.what for finding in Verification(home).findings()]
    status_of(home)
    for table in ("events", "late", "rejected"):
        for piece in Export(home, ExportRequest("Tick", table)).pieces():
            piece.to_pylist()
    return found


def tried(call: Callable[[Path], Any], home: Path) -> Any:
    """What a call gives, or its error, if that is none of our own mistakes; anything else that it raises goes on."""
    try:
        return call(home)
    except PresageError as problem:
        if problem.code == "INTERNAL":
            raise
        return problem


def repaired(home: Path) -> dict[str, Any]:
    """All rows after a repair."""
    work = Repair(home)
    if not any(each.why_not for each in work.files()):
        with opened(home) as engine:
            engine.repair(work)
    return seen(home)


@dataclass(frozen=True)
class Case:
    """One damage, and what comes of it, as rows or as an error. `base`: the home that was damaged."""

    done: str
    base: Path
    looked: Any  # of commands
    shown: Any  # of an engine
    repaired: Any  # of an engine after a repair


def case(homes: list[Path], seed: int, folder: Path) -> Case:
    choice = random.Random(seed)
    base = choice.choice(homes)
    home = Path(shutil.copytree(base, folder / "home", copy_function=os.link))
    try:
        done = damage(home, choice)
        other = Path(shutil.copytree(home, folder / "repaired", copy_function=os.link))
        looked = tried(looked_at, home)
        shown = tried(seen, home)
        # Of those that open as they are, some: a repair must leave them alone.
        mended = tried(repaired, other) if isinstance(shown, PresageError) or not seed % 4 else shown
    finally:
        shutil.rmtree(home)
        shutil.rmtree(folder / "repaired", ignore_errors=True)
    return Case(done, base, looked, shown, mended)
