"""Spark = reference: random queries and those of the golden files through the engine, optimized and in memory, and as
they are written and in sorted steps, always over two partitions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from presage import Engine
from presage.execution.spark import contexts
from presage.lang import parse
from presage.lang import syntax as s
from presage.model.time import to_micros
from presage.plan.nodes import SEQ, TIME
from presage.workspace import Workspace
from property.query_texts import BASE, DECLARATIONS, RELATIONS, SECOND, START, queries
from reference.plans import Row, World, evaluate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAYS: dict[str, dict[str, Any]] = {
    "optimized, in memory": {},
    "as written, in sorted steps": {"optimize": False, "rows_in_memory": 1},
}
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


@pytest.fixture(scope="module")
def engines(spark: SparkSession) -> Iterator[dict[str, Engine]]:
    with pytest.MonkeyPatch.context() as patch:
        # Little data would go into one task, and a wrong key would not be noticed.
        patch.setattr(contexts, "ROWS_PER_TASK", 1)
        made = {way: Engine(spark, **options) for way, options in WAYS.items()}
        for engine in made.values():
            engine.execute(DECLARATIONS)
            for stream, rows in LOADS:
                engine.load(stream, [{**r, "at": datetime_of(r["at"])} for r in rows])
        yield made
        for engine in made.values():
            engine.close()


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


@settings(
    # A second or two each; the profile "soak" asks more of them.
    max_examples=settings().max_examples // 6,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(text=queries())
def test_spark_gives_the_rows_of_the_reference_in_every_way(engines: dict[str, Engine], text: str) -> None:
    check(engines, text)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_queries_of_the_golden_files_give_the_rows_of_the_reference(engines: dict[str, Engine], path: Path) -> None:
    assert check(engines, path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", GOLDEN[::3], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_some_of_them_give_those_rows_through_streaming_too(engines: dict[str, Engine], path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    engine = engines["optimized, in memory"]
    assert comparable(list(engine.query(text, mode="stream", batches=3))) == comparable(expected(text))


def check(engines: dict[str, Engine], text: str) -> list[Row]:
    """Every way gives the rows of the reference, which are returned."""
    wanted: list[Row] = comparable(expected(text))
    # Both at once: most of the time of a small query is spent on waiting.
    with ThreadPoolExecutor(len(engines)) as pool:
        found = list(pool.map(lambda engine: answer(engine, text), engines.values()))
    assert dict(zip(engines, found, strict=True)) == dict.fromkeys(engines, wanted)
    return wanted


def answer(engine: Engine, text: str) -> list[Row]:
    try:
        rows: list[Row] = comparable(list(engine.query(text)))
    finally:
        if "Made" in engine.catalog.types:
            engine.execute("DROP STREAM Made")
    return rows
