"""What a clause may say of which DataFrame: columns, order, bounds; in batch and in streaming."""

from __future__ import annotations

import pytest
from pyspark.sql import types as spark

from presage.errors import PresageError
from presage.frames.columns import WATERMARK
from presage.frames.planning import FramePlan, plan_frame

MARK = {WATERMARK: 5_000}


def schema(*columns: tuple[str, spark.DataType], mark: str = "") -> spark.StructType:
    return spark.StructType(
        [spark.StructField(name, kind, True, MARK if name == mark else None) for name, kind in columns]
    )


TICKS = (
    ("sym", spark.StringType()),
    ("at", spark.TimestampType()),
    ("price", spark.FloatType()),
    ("paid", spark.TimestampNTZType()),
)
MEASURED = "PARTITION BY sym ORDER BY at MEASURES LAST(A.price) AS high PATTERN (A+) DEFINE A AS price > 1"


def plan(clause: str, *columns: tuple[str, spark.DataType], mark: str = "", streaming: bool = False) -> FramePlan:
    return plan_frame(schema(*(columns or TICKS), mark=mark), clause, streaming)


def problem(clause: str, *columns: tuple[str, spark.DataType], mark: str = "", streaming: bool = False) -> PresageError:
    with pytest.raises(PresageError) as caught:
        plan(clause, *columns, mark=mark, streaming=streaming)
    assert caught.value.source is not None
    assert caught.value.source.text == clause
    return caught.value


def marked(found: PresageError) -> str:
    assert found.source is not None
    assert found.span is not None
    return found.source.text[found.span.start : found.span.end]


def names(made: FramePlan) -> list[str]:
    return [output.name for output in made.outputs]


# -- columns ------------------------------------------------------------------------------------------


def test_a_match_shows_partition_columns_and_measures_and_nothing_else() -> None:
    assert names(plan(MEASURED)) == ["sym", "high"]


def test_all_rows_show_partition_order_measures_and_the_other_columns() -> None:
    made = plan(MEASURED.replace("PATTERN", "ALL ROWS PER MATCH PATTERN"))
    assert names(made) == ["sym", "at", "high", "price", "paid"]


def test_a_measure_hides_a_column_of_its_name() -> None:
    made = plan(MEASURED.replace("PATTERN", "ALL ROWS PER MATCH PATTERN").replace("high", "price"))
    assert names(made) == ["sym", "at", "price", "paid"]


def test_a_column_of_a_type_that_the_language_lacks_is_no_trouble_unless_it_is_used() -> None:
    assert plan(MEASURED).carried == ()
    found = problem("ORDER BY at PATTERN (A) DEFINE A AS A.paid > 1")
    assert (found.code, marked(found)) == ("DATA_SHAPE", "A.paid")
    assert "CAST" in found.fix


def test_all_misuses_are_told_at_once_each_with_its_reason() -> None:
    found = problem("ORDER BY paid PATTERN (A) DEFINE A AS prize > 1")
    assert [e.code for e in (found, *found.others)] == ["DATA_SHAPE", "UNKNOWN_ATTRIBUTE"]
    assert "did you mean 'price'" in found.others[0].fix


def test_names_that_differ_in_case_alone_are_two_columns() -> None:
    columns = (("at", spark.TimestampType()), ("a", spark.IntegerType()), ("A", spark.StringType()))
    made = plan("ORDER BY at MEASURES A AS text, a AS number PATTERN (V) DEFINE V AS a > 1", *columns)
    assert [str(o.expr.type) for o in made.outputs if o.expr] == ["STRING", "INT"]


def test_odd_names_are_written_in_back_ticks() -> None:
    columns = (("my at", spark.TimestampType()), ("x.y", spark.IntegerType()))
    assert names(plan("ORDER BY `my at` MEASURES `x.y` AS n PATTERN (V)", *columns)) == ["n"]
    found = problem("ORDER BY `my at` MEASURES x.y AS n PATTERN (V)", *columns)
    assert found.code in {"UNKNOWN_VARIABLE", "UNKNOWN_ATTRIBUTE"}


def test_a_name_that_two_columns_have_cannot_be_used() -> None:
    columns = (("at", spark.TimestampType()), ("x", spark.IntegerType()), ("x", spark.StringType()))
    assert names(plan("ORDER BY at MEASURES COUNT(*) AS n PATTERN (V)", *columns)) == ["n"]
    found = problem("ORDER BY at MEASURES x AS n PATTERN (V)", *columns)
    assert (found.code, marked(found)) == ("AMBIGUOUS_NAME", "x")


def test_only_what_is_used_is_prepared() -> None:
    made = plan(MEASURED)
    assert {name for n in made.input.prepared for name in n.expr.columns()} == {"df.sym", "df.at", "df.price"}
    assert made.only_order == {made.order[0][0]}


def test_a_clause_of_constants_keeps_a_column_to_carry_its_rows() -> None:
    made = plan("ORDER BY at MEASURES 42 AS m, 'x' AS n PATTERN (A)")
    assert [o.name for o in made.outputs] == ["m", "n"]
    assert len(made.stage.made) == 1


# -- order --------------------------------------------------------------------------------------------


def test_a_batch_needs_an_order() -> None:
    found = problem("PARTITION BY sym PATTERN (A)")
    assert (found.code, found.fix) == ("SYNTAX", "add ORDER BY: a DataFrame has no order of its own")


@pytest.mark.parametrize(
    "order", ["price", "at DESC", "CAST(price AS STRING), at"], ids=["a number", "backwards", "the time second"]
)
@pytest.mark.parametrize("bound", ["WITHIN 5 sec", "INTERVAL 5 sec", "GAP 5 sec", "WITHIN 5 sec EMIT TIMEOUT"])
def test_bounds_of_time_need_an_order_of_time(order: str, bound: str) -> None:
    found = problem(f"ORDER BY {order} PATTERN (A B) {bound} DEFINE B AS price > 1")
    assert found.code == "TYPE_MISMATCH"
    assert found.message.startswith(bound.split()[0])
    assert marked(found) == order.split(", ")[0]


def test_without_bounds_any_order_will_do() -> None:
    made = plan("ORDER BY price DESC, at PATTERN (A B) DEFINE B AS price > 1")
    assert [up for _, up in made.order] == [False, True]
    assert not made.timed


def test_a_time_may_be_computed() -> None:
    columns = (("at", spark.StringType()), ("x", spark.IntegerType()))
    assert plan("ORDER BY CAST(at AS TIMESTAMP) PATTERN (A B) WITHIN 5 sec DEFINE B AS x > 1", *columns).timed


# -- streaming ----------------------------------------------------------------------------------------


def test_a_stream_needs_a_watermark() -> None:
    found = problem("ORDER BY at PATTERN (A)", streaming=True)
    assert found.code == "UNSUPPORTED"
    assert "withWatermark" in found.fix


@pytest.mark.parametrize("order", ["price, at", "at DESC", "date_trunc('hour', at)"])
def test_the_order_of_a_stream_begins_with_the_column_of_the_watermark(order: str) -> None:
    found = problem(f"ORDER BY {order} PATTERN (A)", mark="at", streaming=True)
    assert found.message.startswith("ORDER BY that does not begin with 'at'")


def test_the_order_of_a_stream_may_go_on_after_the_watermarks_column() -> None:
    made = plan("ORDER BY at, price DESC PATTERN (A)", mark="at", streaming=True)
    assert [up for _, up in made.order] == [True, False]


def test_a_stream_without_order_comes_in_the_order_of_its_watermark() -> None:
    made = plan("PARTITION BY sym PATTERN (A)", mark="at", streaming=True)
    (first, ascending), *more = made.order
    assert ascending
    assert not more
    assert next(n.expr.columns() for n in made.input.prepared if n.name == first) == {"df.at"}


def test_a_stream_has_no_last_row() -> None:
    found = problem("ORDER BY at PATTERN (A $)", mark="at", streaming=True)
    assert found.message == "$ in a pattern is not supported on a streaming DataFrame"
    assert names(plan("ORDER BY at MEASURES COUNT(*) AS n PATTERN (A $)")) == ["n"]
