"""The compiler of bound expressions to Catalyst columns, by the functions API alone: no user text becomes SQL.

Results do not depend on the session: overflow, division by zero, an index out of range and a failed cast are NULL with
and without ANSI mode, and time is UTC in every time zone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.columnar.like import plain_form
from presage.errors import error
from presage.execution.spark import utc_time
from presage.execution.spark.arithmetic import compute, negate, plain_zero, rounds_sign
from presage.execution.spark.evaluator_udf import evaluated
from presage.execution.spark.typed_columns import cast_column, literal
from presage.execution.spark.types import to_spark
from presage.functions.catalyst import compile_function
from presage.model import types as t
from presage.model.arrow import scalar_of
from presage.model.types import ArrayOf, DataType, DecimalOf, StructOf
from presage.plan import expr as e

# Rows become constants of the plan, in a hash set on every executor. With more rows a join is faster.
MANY_ROWS = 50
# The limit where no join is possible.
MAX_ROWS = 20_000

_Term = tuple[str, Column, DataType]


def quoted(name: str) -> Column:
    """The column of exactly this name, with its dots and backticks."""
    return F.col("`" + name.replace("`", "``") + "`")


def compile_expression(
    expr: e.Expr,
    relations: Mapping[str, pa.Table] | None = None,
    column: Callable[[str], Column] = quoted,
    frame: Callable[[pa.Table], DataFrame] | None = None,
) -> Column:
    """The Catalyst column of a bound expression without aggregates.

    `relations`: the tables of the relations in it; `column` maps a column name of the plan to a column; `frame` makes a
    DataFrame of a table, for relations that are too large to be constants of the plan.
    """
    return _Compiler(relations or {}, column, frame).compile(expr)


@dataclass(frozen=True)
class _Compiler:
    relations: Mapping[str, pa.Table] = field(default_factory=dict)
    column: Callable[[str], Column] = quoted
    frame: Callable[[pa.Table], DataFrame] | None = None

    def compile(self, expr: e.Expr) -> Column:
        match expr:
            case e.Constant():
                return literal(expr.value, expr.type)
            case e.Duration():
                return utc_time.whole(expr.micros)
            case e.ColumnRef():
                return self.column(expr.name)
            case e.FieldOf():
                return _field(self.compile(expr.base), expr.base.type, expr.name)
            case e.ElementOf():
                return self._element(expr)
            case e.MakeStruct():
                values = zip(expr.names, expr.values, strict=True)
                return F.struct(*[self.compile(v).alias(name) for name, v in values])
            case e.FunctionCall():
                return compile_function(expr, tuple(map(self.compile, expr.args)))
            case e.Arithmetic():
                return self._arithmetic(expr)
            case e.Negate() if rounds_sign(expr.type):
                return evaluated(expr, (self.compile(expr.operand),))
            case e.Negate():
                return negate(self.compile(expr.operand), expr.type)
            case e.Comparison():
                return self._comparison(expr)
            case e.And():
                return _balanced([self.compile(o) for o in expr.operands], lambda a, b: a & b)
            case e.Or():
                return _balanced([self.compile(o) for o in expr.operands], lambda a, b: a | b)
            case e.Not():
                return ~self.compile(expr.operand)
            case e.InList():
                return self._in_list(expr)
            case e.InRelation():
                return self._in_relation(expr)
            case e.Like():
                return self._like(expr)
            case e.IsNull():
                return self.compile(expr.operand).isNull()
            case e.CaseWhen():
                return self._case(expr)
            case e.CastTo() if _depends_on_java(expr.operand.type, expr.type):
                return evaluated(expr, (self.compile(expr.operand),))
            case e.CastTo():
                return cast_column(self.compile(expr.operand), expr.operand.type, expr.type)
        raise error("INTERNAL", expr.span, what=f"{type(expr).__name__} reached the compiler of expressions")

    def _element(self, expr: e.ElementOf) -> Column:
        base, index = self.compile(expr.base), self.compile(expr.index)
        if not isinstance(expr.base.type, ArrayOf):
            return F.try_element_at(base, index)
        # A LONG beyond the range of INT is outside of every array.
        index = cast_column(index, expr.index.type, t.INT)
        if expr.from_end:
            index = F.try_subtract(F.array_size(base) - 1, index)
        return F.get(base, index)

    def _arithmetic(self, expr: e.Arithmetic) -> Column:
        left, right = self.compile(expr.left), self.compile(expr.right)
        if expr.op == "||":
            return F.concat(left, right)
        if expr.left.type == t.TIMESTAMP and expr.right.type == t.TIMESTAMP:
            micros = F.try_subtract(F.unix_micros(left), F.unix_micros(right))
            return micros.cast(s.DoubleType()) / F.lit(1e6)
        if expr.type == t.TIMESTAMP:
            move = F.try_add if expr.op == "+" else F.try_subtract
            if isinstance(expr.right, e.Duration) and expr.right.months:
                months = expr.right.months if expr.op == "+" else -expr.right.months
                left, right = utc_time.months_later(left, months), utc_time.whole(expr.right.rest)
            return utc_time.from_micros(move(F.unix_micros(left), right))
        return compute(expr.op, left, right, expr.type)

    def _comparison(self, expr: e.Comparison) -> Column:
        if expr.left.type == t.NULL and expr.right.type == t.NULL:
            return literal(None, t.BOOLEAN)
        return _COMPARE[expr.op](self.compile(expr.left), self.compile(expr.right))

    def _in_list(self, expr: e.InList) -> Column:
        if expr.operand.type == t.NULL:
            return literal(None, t.BOOLEAN)
        operand = plain_zero(self.compile(expr.operand), expr.operand.type)
        return operand.isin(*[plain_zero(self.compile(item), item.type) for item in expr.items])

    def _in_relation(self, expr: e.InRelation) -> Column:
        relation = self.relations.get(expr.relation)
        if relation is None:
            raise error("INTERNAL", expr.span, what=f"the rows of relation '{expr.relation}' were not given")
        if self.frame is not None and (expr.condition is not None or relation.num_rows > MANY_ROWS):
            return self._joined(expr, relation, self.frame)
        args = [(name, self.compile(a), a.type) for name, a in zip(expr.attributes, expr.args, strict=True)]
        return _member_of(expr.relation, relation, args)

    def _joined(self, expr: e.InRelation, relation: pa.Table, frame: Callable[[pa.Table], DataFrame]) -> Column:
        """As a broadcast semi-join."""
        outer = replace(self, column=lambda name: self.column(name).outer())
        condition = F.lit(True)
        columns = expr.condition.columns if expr.condition is not None else ()
        inner = _numbered_columns(relation, (*expr.attributes, *columns))
        for i, (name, arg) in enumerate(zip(expr.attributes, expr.args, strict=True)):
            condition = condition & _equal_terms(F.col(f"r{i}"), relation, name, outer.compile(arg), arg.type)
        if expr.condition is not None:
            own = {name: F.col(f"r{len(expr.attributes) + i}") for i, name in enumerate(columns)}
            given = {f"{e.GIVEN}{i}": outer.compile(value) for i, value in enumerate(expr.values)}
            both = replace(self, column=lambda name: {**own, **given}[name])
            condition = condition & both.compile(expr.condition.expr)
        return F.broadcast(frame(inner)).where(condition).exists()

    def _like(self, expr: e.Like) -> Column:
        operand, pattern = self.compile(expr.operand), expr.pattern
        form = plain_form(str(pattern.value)) if isinstance(pattern, e.Constant) and pattern.value is not None else None
        if form is None:
            return evaluated(expr, (operand, self.compile(pattern)))
        before, text, behind = form
        if before:
            return (F.contains if behind else F.endswith)(operand, F.lit(text))
        return F.startswith(operand, F.lit(text)) if behind else operand == F.lit(text)

    def _case(self, expr: e.CaseWhen) -> Column:
        conditions, values = expr.branches[0::2], expr.branches[1::2]
        result = F.when(self.compile(conditions[0]), self.compile(values[0]))
        for condition, value in zip(conditions[1:], values[1:], strict=True):
            result = result.when(self.compile(condition), self.compile(value))
        return result.otherwise(self.compile(expr.otherwise))


_COMPARE: dict[str, Callable[[Column, Column], Column]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# Beyond, Spark writes small decimals with an exponent, in some sessions.
PLAIN_SCALE = 6


def _depends_on_java(source: DataType, target: DataType) -> bool:
    """Whether Spark's cast depends on the version of Java, which prints a DOUBLE, or on the session."""
    if isinstance(target, DecimalOf):
        return source == t.DOUBLE
    return target == t.STRING and isinstance(source, DecimalOf) and source.scale > PLAIN_SCALE


def _field(base: Column, data_type: DataType, name: str) -> Column:
    """A field by its exact name. Spark ignores case: fields that differ only in case are renamed by position first."""
    names = [n for n, _ in data_type.fields] if isinstance(data_type, StructOf) else []
    if sum(n.lower() == name.lower() for n in names) < 2:
        return base.getField(name)
    numbered = StructOf(tuple((f"f{i}", data) for i, (_, data) in enumerate(data_type.fields)))  # type: ignore[attr-defined]
    return base.cast(to_spark(numbered)).getField(f"f{names.index(name)}")


def _balanced(parts: list[Column], join: Callable[[Column, Column], Column]) -> Column:
    """A tree of logarithmic depth: Catalyst recurses over it."""
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        parts = [join(a, b) for a, b in pairs] + (parts[-1:] if len(parts) % 2 else [])
    return parts[0]


def _member_of(name: str, table: pa.Table, terms: list[_Term]) -> Column:
    """Whether a relation has a row of given terms. Never NULL: a null matches nothing.

    `terms`: the compared attributes, each with its column and type; other attributes may have any value.
    """
    if not terms:
        return F.lit(table.num_rows > 0)
    lists = [_values(table.column(attribute)) for attribute, _, _ in terms]
    rows = sorted({row for row in zip(*lists, strict=True) if None not in row}, key=repr)
    if not rows:
        return F.lit(False)
    if len(rows) > MAX_ROWS:
        what, fix = f"the relation '{name}' in a condition", f"put '{name}' into FROM and join it"
        raise error("LIMIT", what=what, limit_name="rows of a relation in a condition", limit=MAX_ROWS, fix=fix)
    columns, common = [], []
    for attribute, column, found in terms:
        wanted = t.common_type(found, _type(table.schema.field(attribute).type, found)) or found
        common.append(wanted)
        columns.append(plain_zero(cast_column(column, found, wanted), wanted))
    if len(columns) == 1:
        items = [plain_zero(literal(value, common[0]), common[0]) for (value,) in rows]
        return F.coalesce(columns[0].isin(*items), F.lit(False))
    # Structs with nulls compare as equal, so nulls are excluded first.
    given = reduce(operator.and_, [column.isNotNull() for column in columns])
    items = [_struct([plain_zero(literal(v, c), c) for v, c in zip(row, common, strict=True)]) for row in rows]
    return given & _struct(columns).isin(*items)


def _numbered_columns(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Columns `r0`, `r1`, …, which no column of the plan is named; in one chunk, for Spark."""
    chosen = {f"r{i}": table.column(name) for i, name in enumerate(names)}
    return pa.table(chosen).combine_chunks() if chosen else pa.table({"r": pa.array([0] * table.num_rows)})


def _equal_terms(row: Column, table: pa.Table, attribute: str, term: Column, found: DataType) -> Column:
    """Equality of a relation's column and a term, in the type that both widen to."""
    own = _type(table.schema.field(attribute).type, found)
    wanted = t.common_type(found, own) or found
    return plain_zero(cast_column(row, own, wanted), wanted) == plain_zero(cast_column(term, found, wanted), wanted)


def _values(column: pa.ChunkedArray) -> list[object]:
    """Hashable values; times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    values: list[object] = column.to_pylist()
    return values


def _type(found: pa.DataType, otherwise: DataType) -> DataType:
    """The language's type of a column, which may be wider than the term's; types with parts are equal since binding."""
    return scalar_of(found) or otherwise


def _struct(columns: list[Column]) -> Column:
    return F.struct(*[column.alias(f"c{i}") for i, column in enumerate(columns)])
