"""Function calls as tasks on Spark's executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from presage.execution.spark.failures import explained

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
_SCHEMA = "place int, answer binary"


def run_on_executors(
    spark: SparkSession, function: Callable[[Argument], Answer], arguments: Sequence[Argument]
) -> list[Answer]:
    """The results in the order of the arguments. Both are pickled, within one Spark session."""
    packed = [pickle.dumps(argument) for argument in arguments]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                answer = pickle.dumps(function(pickle.loads(packed[place])))
                yield pa.RecordBatch.from_pydict(
                    {"place": pa.array([place], pa.int32()), "answer": pa.array([answer], pa.binary())}
                )

    count = len(arguments)
    with explained():
        rows = spark.range(0, count, 1, count).mapInArrow(work, _SCHEMA).toArrow()
    answers = {place.as_py(): pickle.loads(answer.as_py()) for place, answer in zip(*rows.columns, strict=True)}
    return [answers[place] for place in range(count)]
