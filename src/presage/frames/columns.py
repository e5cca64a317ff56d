"""The columns of a DataFrame as the language sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import types as spark

from presage.analyze.scope import ScopeItem
from presage.errors import PresageError, error
from presage.execution.spark.types import from_spark
from presage.model.text import Span
from presage.model.types import DataType

ALIAS = "df"
# Where Spark notes on a column that withWatermark has been called on it.
WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class FrameColumns:
    """`known` are columns of types that the language has, by place; `refused` says of the others what to do."""

    schema: spark.StructType
    known: tuple[tuple[int, str, DataType], ...]
    refused: Mapping[str, PresageError]

    @property
    def item(self) -> ScopeItem:
        return ScopeItem(ALIAS, "the DataFrame", tuple((name, kind) for _, name, kind in self.known))

    @property
    def places(self) -> dict[str, int]:
        """The place of a column by its name in the plan."""
        return {self.item.plan_name(name): place for place, name, _ in self.known}

    @property
    def watermarks(self) -> dict[str, int]:
        """Columns with a watermark, and their delay in milliseconds."""
        return {f.name: f.metadata[WATERMARK] for f in self.schema.fields if WATERMARK in (f.metadata or {})}

    def explain(self, found: PresageError, text: str) -> PresageError:
        """An error about an unknown column says why it is not known, where it is there and cannot be used."""
        if found.code != "UNKNOWN_ATTRIBUTE" or found.span is None:
            return found
        name = text[found.span.start : found.span.end].split(".")[-1].strip().strip("`")
        why = self.refused.get(name)
        return found if why is None else _at(why, found.span)


def _at(problem: PresageError, span: Span) -> PresageError:
    return type(problem)(problem.code, problem.message, problem.fix, span=span)


def frame_columns(schema: spark.StructType) -> FrameColumns:
    known: list[tuple[int, str, DataType]] = []
    refused: dict[str, PresageError] = {}
    names = Counter(f.name for f in schema.fields)
    for place, field in enumerate(schema.fields):
        if names[field.name] > 1:
            refused[field.name] = error(
                "AMBIGUOUS_NAME",
                name=field.name,
                candidates=f"{names[field.name]} columns of the DataFrame",
                fix="df.toDF(…) with a name of its own for each column",
            )
            continue
        try:
            known.append((place, field.name, from_spark(field.dataType, field.name)))
        except PresageError as problem:
            refused[field.name] = problem
    return FrameColumns(schema, tuple(known), refused)
