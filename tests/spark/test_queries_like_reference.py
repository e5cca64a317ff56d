"""Spark = local = reference: random queries and those of the golden files through the engine, on Spark optimized and in
memory, on Spark as written and in sorted steps, over two partitions, and in this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from presage import Engine
from presage.execution.spark import batch
from property.query_texts import DECLARATIONS, queries
from reference.plans import Row
from reference.random_world import GOLDEN, LOADS, answer, comparable, datetime_of, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAYS: dict[str, dict[str, Any]] = {
    "optimized, in memory": {"placement": "spark"},
    "as written, in sorted steps": {"placement": "spark", "optimize": False, "rows_in_memory": 1},
    "in this process": {"placement": "local"},
}


@pytest.fixture(scope="module")
def engines(spark: SparkSession) -> Iterator[dict[str, Engine]]:
    with pytest.MonkeyPatch.context() as patch:
        # Little data would go into one task, and a wrong key would not be noticed.
        patch.setattr(batch, "ROWS_PER_TASK", 1)
        made = {way: Engine(spark, **options) for way, options in WAYS.items()}
        for engine in made.values():
            engine.execute(DECLARATIONS)
            for stream, rows in LOADS:
                engine.load(stream, [{**r, "at": datetime_of(r["at"])} for r in rows])
        yield made
        for engine in made.values():
            engine.close()


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
