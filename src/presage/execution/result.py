"""The result of a query: pandas, Arrow, or a Spark DataFrame, in the order in which rows were emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from presage.columnar.processing_order import sorted_table
from presage.errors import QueryWarning, error
from presage.model.arrow import to_arrow
from presage.model.types import LONG, STRING
from presage.plan.nodes import SEQ, TIME, Field, order_columns
from presage.plan.picture import Picture

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession


def no_picture() -> Picture:
    fix = "ask for the picture of a query with MATCH_RECOGNIZE or PATTERN"
    raise error("UNSUPPORTED", what="a picture", where="for a statement that has no plan", fix=fix)


class Result:
    """A bounded result. Nothing runs until rows are read; they are computed once for pandas and Arrow.

    `table` computes TIME, SEQ, order and columns, in any order; `frame` gives the sorted columns as a DataFrame.
    `remarks`: notes about the rows, for example on records that were rejected at loading."""

    def __init__(
        self,
        columns: tuple[Field, ...],
        depth: int,
        table: Callable[[], pa.Table],
        frame: Callable[[], DataFrame],
        explain: Callable[[], str],
        picture: Callable[[], Picture] = no_picture,
    ) -> None:
        self._columns = columns
        self._order = (TIME, SEQ, *order_columns(depth))
        self._compute = table
        self._frame = frame
        self._explain = explain
        self._picture = picture
        self._table: pa.Table | None = None
        self.remarks: tuple[str, ...] = ()
        self.warnings: tuple[QueryWarning, ...] = ()

    def noted(self, remarks: tuple[str, ...], warnings: tuple[QueryWarning, ...] = ()) -> Self:
        """The same result, with remarks on its rows and warnings about the text of its query."""
        self.remarks, self.warnings = remarks, warnings
        return self

    @property
    def columns(self) -> list[str]:
        return [c.name for c in self._columns]

    @property
    def df(self) -> DataFrame:
        """The rows as a Spark DataFrame, sorted in the order of emission."""
        return self._frame()

    def to_arrow(self) -> pa.Table:
        if self._table is None:
            schema = pa.schema([(c.name, to_arrow(c.type)) for c in self._columns])
            # Sorted here: on Spark that is cheaper than a second shuffle.
            self._table = sorted_table(self._compute(), self._order).select(self.columns).cast(schema)
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        return self.to_arrow().to_pandas()

    def explain(self) -> str:
        return self._explain()

    def picture(self) -> Picture:
        """The automata of MATCH_RECOGNIZE and the terms of PATTERN, drawn; `.svg` is the text of the picture."""
        return self._picture()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_arrow().to_pylist())

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def __repr__(self) -> str:
        remarks = "".join(f"; {remark}" for remark in self.remarks)
        return f"Result({', '.join(f'{c.name} {c.type}' for c in self._columns)}){remarks}"

    def _repr_html_(self) -> str:
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return str(self.to_pandas().to_html(index=False, max_rows=50)) + remarks


class TableResult(Result):
    """A result that is a table already: SHOW, DESCRIBE, EXPLAIN, rows of a deployed statement."""

    def __init__(
        self,
        columns: tuple[Field, ...],
        table: pa.Table,
        spark: Callable[[], SparkSession],
        explain: Callable[[], str] = lambda: "this statement reads the catalog",
        picture: Callable[[], Picture] = no_picture,
    ) -> None:
        super().__init__(columns, 0, lambda: table, self._as_frame, explain, picture)
        self._session = spark
        self._table = table

    @classmethod
    def of_text(
        cls, names: tuple[str, ...], rows: list[tuple[Any, ...]], spark: Callable[[], SparkSession]
    ) -> TableResult:
        """A table whose columns are all STRING, or LONG where a column holds integers."""
        types = [LONG if any(isinstance(r[i], int) for r in rows) else STRING for i in range(len(names))]
        columns = tuple(Field(n, k) for n, k in zip(names, types, strict=True))
        arrays = [pa.array([r[i] for r in rows], to_arrow(c.type)) for i, c in enumerate(columns)]
        return cls(columns, pa.table(arrays, names=list(names)), spark)

    def _as_frame(self) -> DataFrame:
        from presage.execution.spark.types import frame_of

        return frame_of(self._session(), self.to_arrow())


class PlanResult(TableResult):
    """EXPLAIN: the lines of the plan as rows; displayed as a text, with its indentation."""

    def __repr__(self) -> str:
        return "\n".join(self.to_arrow()["plan"].to_pylist())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class PictureResult(TableResult):
    """EXPLAIN … FORMAT svg: the lines of the SVG as rows; a notebook draws it."""

    def _repr_html_(self) -> str:
        return self._picture()._repr_html_()

    def _repr_svg_(self) -> str:
        return self._picture().svg


def explained_as(form: str, text: str, spark: Callable[[], SparkSession]) -> Result:
    """The rows of EXPLAIN: its lines."""
    column = Field("plan", STRING)
    rows = pa.table({column.name: pa.array(text.splitlines(), to_arrow(column.type))})
    if form == "svg":
        return PictureResult((column,), rows, spark, picture=lambda: Picture(text))
    return PlanResult((column,), rows, spark)
