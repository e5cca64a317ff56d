"""A shard's rows do not depend on how they come: in which batches, in which order within the delay."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from presage.errors import PresageError
from presage.frames.batch import ARRIVAL
from presage.frames.columns import WATERMARK
from presage.frames.packing import from_bytes, to_bytes
from presage.frames.planning import plan_frame
from presage.frames.shard_step import ShardStep
from presage.frames.stream import checkpoint_number
from presage.model.arrow import to_arrow
from presage.model.operator_state import State
from presage.plan.expr import ColumnRef
from presage.plan.nodes import TIME

SECOND = 1_000_000
SCHEMA = spark.StructType(
    [
        spark.StructField("key", spark.StringType()),
        spark.StructField("at", spark.TimestampType(), True, {WATERMARK: 3_000}),
        spark.StructField("v", spark.IntegerType()),
    ]
)
RISING = (
    "PARTITION BY key ORDER BY at MEASURES FIRST(v) AS low, LAST(v) AS high {} PATTERN (A B+) {} "
    "DEFINE B AS v > PREV(v)"
)


class Shard:
    """A shard that is given rows (key, second, v), batch by batch, its state going through bytes between them."""

    def __init__(self, clause: str, number: int = 1) -> None:
        made = plan_frame(SCHEMA, clause, streaming=True)
        self.prepared = [(n.name, next(iter(n.expr.columns())), to_arrow(n.expr.type)) for n in made.input.prepared]
        for name, place in made.carried:
            (kind,) = to_arrow_schema(SCHEMA[place : place + 1], timezone="UTC").types
            self.prepared.append((name, f"df.{SCHEMA[place].name}", kind))
        fields = [(TIME, pa.int64()), *((name, kind) for name, _, kind in self.prepared), (ARRIVAL, pa.int64())]
        self.schema = pa.schema(fields)
        self.shard = ShardStep(made.kernel, self.schema, made.order, made.waits, number)
        self.shown = [o.expr.name if isinstance(o.expr, ColumnRef) else o.column for o in made.outputs]
        self.held: bytes | None = None
        self.rows: list[tuple[Any, ...]] = []

    def batch(self, rows: list[tuple[str | None, int, int | None]], watermark: int | None) -> int | None:
        values = [{"df.key": k, "df.at": at * SECOND, "df.v": v} for k, at, v in rows]
        given = [
            {TIME: row["df.at"], ARRIVAL: i, **{name: row[source] for name, source, _ in self.prepared}}
            for i, row in enumerate(values)
        ]
        arrived = from_bytes(to_bytes(pa.Table.from_pylist(given, self.schema)))
        at = None if watermark is None else watermark * SECOND
        held = None if self.held is None else State.from_bytes(self.held)
        after, made = self.shard.step(held, [arrived] if given else [], at)
        self.held = None if after is None else after.to_bytes()
        self.rows += [tuple(row[name] for name in self.shown) for row in made.to_pylist()]
        return self.shard.due(after, at)


def world(seed: int) -> list[tuple[str | None, int, int | None]]:
    """Rows in the order of their time, which is theirs alone."""
    pick = random.Random(seed)
    return [(pick.choice(["a", "b", None]), 10 + i, pick.choice([None, 1, 2, 3, 4, 5])) for i in range(40)]


@pytest.mark.parametrize("bound", ["", "WITHIN 4 sec", "GAP 3 sec EMIT TIMEOUT", "INTERVAL 5 sec"])
@pytest.mark.parametrize("rows", ["", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_batches_and_the_order_within_the_delay_do_not_matter(bound: str, rows: str) -> None:
    clause = RISING.format(rows, bound)
    for seed in range(4):
        events = world(seed)
        whole = Shard(clause)
        whole.batch(events, None)
        whole.batch([], 1_000)

        pick = random.Random(-seed)
        cut = Shard(clause)
        todo, newest, watermark = sorted(events, key=lambda e: e[1] + pick.uniform(0, 3)), 0, None
        while todo:
            size = pick.randint(0, 7)
            part, todo = todo[:size], todo[size:]
            cut.batch(part, watermark)
            newest = max([newest, *(at for _, at, _ in part)])
            watermark = newest - 3 if newest else None
        cut.batch([], 1_000)
        assert sorted(map(repr, cut.rows)) == sorted(map(repr, whole.rows))
        assert whole.rows


def test_a_row_that_the_watermark_has_passed_is_late() -> None:
    shard = Shard(RISING.format("", ""))
    shard.batch([("a", 10, 1), ("a", 20, 3)], None)
    shard.batch([("a", 14, 9), ("a", 15, 2), ("a", 30, 0)], 15)
    shard.batch([], 40)
    assert shard.rows == [("a", 1, 3)]


def test_rows_wait_for_the_watermark() -> None:
    shard = Shard(RISING.format("", ""))
    assert shard.batch([("a", 10, 1), ("a", 11, 2), ("a", 12, 0)], None) == 10 * SECOND
    assert shard.batch([], 12) == 12 * SECOND
    assert shard.rows == []
    shard.batch([], 13)
    assert shard.rows == [("a", 1, 2)]


def test_a_bound_settles_a_match_when_time_passes_though_no_row_comes() -> None:
    shard = Shard(RISING.format("", "WITHIN 5 sec"))
    shard.batch([("a", 10, 1), ("a", 11, 2)], None)
    # There is something to do at the next watermark, whatever it is.
    assert shard.batch([], 14) == 14 * SECOND
    assert shard.rows == []
    shard.batch([], 15)
    assert shard.rows == [("a", 1, 2)]


def test_a_shard_that_holds_nothing_has_no_state() -> None:
    shard = Shard("ORDER BY at MEASURES A.v AS v PATTERN (A B) WITHIN 5 sec DEFINE B AS v > A.v")
    shard.batch([("a", 10, 1)], None)
    assert shard.held is not None
    assert shard.batch([], 60) is None
    assert shard.held is None


def test_a_row_that_is_kept_for_later_ones_to_look_back_at_is_not_waited_for() -> None:
    shard = Shard(RISING.format("", "WITHIN 5 sec"))
    shard.batch([("a", 10, 1)], None)
    assert shard.batch([], 60) is None
    assert shard.held is not None


def test_rows_of_one_time_keep_the_order_in_which_they_came() -> None:
    shard = Shard("ORDER BY at MEASURES ARRAY_AGG(v) AS vs PATTERN (A{4})")
    shard.batch([("a", 10, 2), ("a", 10, 1)], None)
    shard.batch([("a", 10, 4), ("a", 9, 3)], 8)
    shard.batch([], 11)
    assert shard.rows == [([3, 2, 1, 4],)]


def test_further_columns_of_the_order_come_before_arrival() -> None:
    shard = Shard("ORDER BY at, v DESC MEASURES ARRAY_AGG(v) AS vs PATTERN (A{4})")
    shard.batch([("a", 10, 2), ("a", 10, None)], None)
    shard.batch([("a", 10, 4), ("a", 9, 3)], 8)
    shard.batch([], 11)
    assert shard.rows == [([3, 4, 2, None],)]


def test_a_checkpoint_of_another_clause_is_refused() -> None:
    shard, other = Shard(RISING.format("", ""), 1), Shard(RISING.format("", "WITHIN 5 sec"), 2)
    shard.batch([("a", 10, 1)], None)
    other.held = shard.held
    with pytest.raises(PresageError, match="checkpointLocation"):
        other.batch([], None)


def test_checkpoints_of_earlier_releases_are_known_again() -> None:
    clause = (
        "PARTITION BY key ORDER BY at MEASURES FIRST(v) AS low, LAST(v) AS high, avg(B.v) AS a "
        "PATTERN (A B+) WITHIN 5 min DEFINE B AS v > PREV(v)"
    )
    plan = plan_frame(SCHEMA, clause, streaming=True)
    assert checkpoint_number(plan, pa.schema([("a", pa.int64())]), 16) == 2019492709
