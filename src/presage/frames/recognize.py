"""`presage.match_recognize`: the matches of a clause in a DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame

from presage.errors import error
from presage.frames.batch import run_batch
from presage.frames.planning import plan_frame
from presage.frames.stream import run_stream

SHARDS = 16
MOST_SHARDS = 4_096


def match_recognize(df: DataFrame, clause: str, *, shards: int = SHARDS) -> DataFrame:
    """The matches of a clause, such as `PARTITION BY sym ORDER BY at MEASURES … PATTERN (A B+) DEFINE …`, in any
    DataFrame, batch or streaming. Nothing runs until rows are asked for, and no setting of the session is changed.

    Columns: those of PARTITION BY, then the measures; ALL ROWS PER MATCH has those of ORDER BY after the former and all
    others after the latter. A streaming DataFrame needs a watermark on the column that ORDER BY begins with; `shards`
    is the number of parts that its state falls into, fixed by the checkpoint.
    """
    if not isinstance(df, DataFrame):
        raise error(
            "BAD_VALUE",
            what="df",
            found=f"a {type(df).__name__}",
            expected="a Spark DataFrame",
            fix="make one with spark.createDataFrame",
        )
    if not 1 <= shards <= MOST_SHARDS:
        raise error("BAD_VALUE", what="shards", found=shards, expected=f"between 1 and {MOST_SHARDS}")
    plan = plan_frame(df.schema, clause, df.isStreaming)
    return run_stream(df, plan, shards) if df.isStreaming else run_batch(df, plan)
