"""Over Spark Connect, on the cluster: what works has the same rows, what cannot says so by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cluster.capabilities import DECLARATIONS, QUERIES, fill, rows, ticks
from presage import Engine, PresageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.on("connect")
EVENTS, LOADS, PER_LOAD = 30_000, 3, 10_000


@pytest.fixture(scope="module")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(spark, tmp_path_factory.mktemp("filled") / "home") as engine:
        fill(engine, EVENTS)
        yield engine


@pytest.mark.parametrize("capability", QUERIES)
def test_a_query_over_connect_has_the_rows_of_the_client(capability: str, filled: Engine) -> None:
    over_connect = rows(filled.query(QUERIES[capability]).df.toArrow())
    assert over_connect == rows(filled.query(QUERIES[capability], mode="stream", batches=3).to_arrow())
    assert over_connect


def test_a_standing_statement_deals_its_batches_out_to_the_servers_workers(spark: SparkSession, tmp_path: Path) -> None:
    text = QUERIES["window"]
    with Engine(spark, tmp_path / "home", rows_on_driver=1_000) as engine:
        engine.execute(DECLARATIONS)
        live, job = engine.deploy(text, name="window"), engine._deployments.job
        dealt, workers = [], job._workers
        assert workers is not None
        job._workers = lambda function, shares: dealt.append(len(shares)) or workers(function, shares)  # type: ignore[func-returns-value]
        for number in range(LOADS):
            engine.load("Tick", ticks(PER_LOAD, first=number * PER_LOAD))
            live.drain(timeout=900)
        assert live.status.last_error is None
        assert dealt == [job._parallelism] * LOADS
        assert rows(live.table()) == rows(engine.query(text).to_arrow())


def test_an_expression_too_deep_for_its_messages_is_refused_by_name(filled: Engine) -> None:
    deep = "(" * 100 + "price" + " + 1)" * 100
    with pytest.raises(PresageError, match="nested as deeply is not supported over Spark Connect") as caught:
        filled.query(f"SELECT {deep} AS deep FROM Tick").to_arrow()
    assert "a classic session" in caught.value.fix


def test_a_session_that_has_not_sent_the_wheel_is_told_to(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark.newSession(), tmp_path / "home") as engine:
        fill(engine, 1_000)
        with pytest.raises(PresageError) as caught:
            engine.query(QUERIES["window"]).to_arrow()
    assert caught.value.code == "NOT_ON_WORKERS"
    assert "the wheel of Presage" in caught.value.fix
