"""A small world of random events, random queries over it, and their rows by the reference."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage.lang import parse
from presage.lang import syntax as s
from presage.model.time import to_micros
from presage.plan.nodes import SEQ, TIME
from presage.workspace import Workspace
from property.query_texts import BASE, DECLARATIONS, RELATIONS, SECOND, START
from reference.plans import Row, World, evaluate

if TYPE_CHECKING:
    from presage import Engine

CHOICES: dict[str, list[Any]] = {
    "k": ["a", "b", None, "ü", "b"],
    "n": [1, 2, 0, None, 2**31 - 1],
    "x": [0.5, 1.5, -2.0, None, float("nan"), -0.0, 0.0],
    "tags": [[], ["p"], ["q", None], None],
    "open": [True, False, None],
    "spot": [None, {"room": "r", "floor": 1}, {"room": None, "floor": 2}],
    "v": [1, 2, 5, None, 2**40],
}
ATTRIBUTES = {"Temp": ("k", "n", "x", "tags"), "Door": ("k", "n", "open", "spot"), "Tick": ("k", "v")}


def loads() -> list[tuple[str, list[Row]]]:
    """Seven events of each stream in several loads, out of order, with ties in time within and between streams."""
    dice = random.Random(7)
    made = []
    for count in (4, 2, 1):
        for stream in BASE:
            rows = []
            for _ in range(count):
                at = START + dice.randrange(0, 17) * SECOND // 2
                rows.append({name: dice.choice(CHOICES[name]) for name in ATTRIBUTES[stream]} | {"at": at})
            made.append((stream, rows))
    return made


def world_of(made: list[tuple[str, list[Row]]]) -> World:
    """The same events as they arrive: a load is sorted by event time, and arrival counts over all streams."""
    streams: dict[str, list[Row]] = {name: [] for name in BASE}
    seq = 0
    for stream, rows in made:
        for row in sorted(rows, key=lambda r: r["at"]):
            seq += 1
            streams[stream].append({TIME: row["at"], SEQ: seq, **row})
    return World(streams, RELATIONS)


GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*/*.sql"))
LOADS = loads()
WORLD = world_of(LOADS)


def datetime_of(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def expected(text: str) -> list[Row]:
    workspace = Workspace([], ".")
    workspace.check(DECLARATIONS)
    *before, last = parse(text).statements
    for statement in before:
        workspace.catalog = workspace.declare(statement)
    assert isinstance(last, s.Query)
    query = workspace.bind(last)
    return [{c.name: row[c.name] for c in query.columns} for row in evaluate(query.plan, WORLD, query.upper)]


def comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.9g}") + 0.0
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, dict):
        return {name: comparable(v) for name, v in value.items()}
    return list(map(comparable, value)) if isinstance(value, list) else value


def answer(engine: Engine, text: str) -> list[Row]:
    try:
        rows: list[Row] = comparable(list(engine.query(text)))
    finally:
        if "Made" in engine.catalog.types:
            engine.execute("DROP STREAM Made")
    return rows
