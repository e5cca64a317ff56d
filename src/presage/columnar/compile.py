"""The expression compiler: nodes that compute expressions; equal subexpressions of all statements share a node."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar import decimals, logic
from presage.columnar.access import element_at_place, field_of, make_struct, value_at_key
from presage.columnar.arithmetic import compute, concatenated, months_later, negate, seconds_between
from presage.columnar.cancellation import check_cancelled
from presage.columnar.casts import cast
from presage.columnar.like import like
from presage.columnar.membership import in_list, in_relation, in_relation_where, relation_of, relation_terms_supported
from presage.columnar.order import compare
from presage.columnar.vectors import Bools, Flat, Vector, constant, from_arrow, one_array, truth
from presage.functions.columnar import compile_function
from presage.functions.columnar.call import Kernel
from presage.model import types as t
from presage.model.types import ArrayOf, DecimalOf
from presage.plan import expr as e


class Batch:
    """A batch of rows, and the values computed for it so far."""

    __slots__ = ("table", "values")

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.values: dict[Node, Vector] = {}


class Node:
    """One expression, computed once for each batch."""

    __slots__ = ("children", "kernel", "number")

    def __init__(self, number: int, kernel: Kernel, children: tuple[Node, ...]) -> None:
        self.number = number
        self.kernel = kernel
        self.children = children

    def value(self, batch: Batch) -> Vector:
        value = batch.values.get(self)
        if value is None:
            check_cancelled()
            value = batch.values[self] = self.kernel(*[child.value(batch) for child in self.children])
        return value


class ConstantNode(Node):
    __slots__ = ("vector",)

    def __init__(self, number: int, vector: Vector) -> None:
        super().__init__(number, lambda: vector, ())
        self.vector = vector

    def value(self, batch: Batch) -> Vector:
        return self.vector


class ColumnNode(Node):
    """Reads a column by its exact name; a dot in it is not a field access."""

    __slots__ = ("column",)

    def __init__(self, number: int, column: e.ColumnRef) -> None:
        super().__init__(number, lambda: None, ())  # type: ignore[arg-type, return-value]
        self.column = column

    def value(self, batch: Batch) -> Vector:
        value = batch.values.get(self)
        if value is None:
            array = one_array(batch.table.column(self.column.name))
            value = batch.values[self] = from_arrow(array, self.column.type)
        return value


class Nodes:
    """Compiles expressions, with a cache by identity and one by content."""

    def __init__(self, relations: Mapping[str, pa.Table]) -> None:
        self._relations = relations
        # Never reused: a number in an old key must not match a newer node.
        self._numbers = itertools.count()
        self._by_content: dict[tuple[object, ...], Node | None] = {}
        # Holds the expression as well, so that its id is not reused.
        self._by_identity: dict[int, tuple[e.Expr, Node | None]] = {}

    def node(self, expr: e.Expr) -> Node | None:
        """The node of an expression; None if a part of it cannot be computed here."""
        seen = self._by_identity.get(id(expr))
        if seen is None:
            if len(self._by_identity) > MAX_CACHED:
                self._by_identity.clear()
                self._by_content.clear()
            seen = self._by_identity[id(expr)] = (expr, self._node(expr))
        return seen[1]

    def _node(self, expr: e.Expr) -> Node | None:
        children = [self.node(child) for child in expr.children()]
        given = tuple(child for child in children if child is not None)
        if len(given) < len(children):
            return None
        key = (type(expr), expr.type, _own_parts(expr), *(child.number for child in given))
        if key not in self._by_content:
            self._by_content[key] = self._built(expr, given)
        return self._by_content[key]

    def _built(self, expr: e.Expr, children: tuple[Node, ...]) -> Node | None:
        number = next(self._numbers)
        if isinstance(expr, e.Constant):
            return ConstantNode(number, constant(expr.value, expr.type))
        if isinstance(expr, e.Duration):
            return ConstantNode(number, Flat(np.array([expr.micros], np.int64)))
        if isinstance(expr, e.ColumnRef):
            return ColumnNode(number, expr)
        kernel = self._membership(expr) if isinstance(expr, e.InRelation) else kernel_of(expr)
        if kernel is None:
            return None
        if all(isinstance(child, ConstantNode) for child in children):
            return ConstantNode(number, kernel(*[child.vector for child in children]))  # type: ignore[attr-defined]
        return Node(number, kernel, children)

    def _membership(self, expr: e.InRelation) -> Kernel:
        if expr.condition is None:
            return in_relation(expr, self._relations)
        # Its columns are those of the pairs: compiled apart.
        condition = Nodes(self._relations).node(expr.condition.expr)
        assert condition is not None

        def holds(pairs: pa.Table) -> Bools:
            return truth(condition.value(Batch(pairs)), pairs.num_rows)

        return in_relation_where(expr, relation_of(expr, self._relations), holds)


# Clears the caches now and then: undeployed statements leave entries behind.
MAX_CACHED = 100_000


def _own_parts(expr: e.Expr) -> str:
    """The fields of an expression other than its children, as text: 0.0 equals -0.0, and NaN not even itself."""
    own = [getattr(expr, f.name) for f in fields(expr) if f.name not in ("type", "span")]
    return repr([v for v in own if not isinstance(v, e.Expr) and not (isinstance(v, tuple) and _has_expr(v))])


def _has_expr(values: tuple[object, ...]) -> bool:
    return any(isinstance(v, e.Expr) for v in values)


# -- kernels --------------------------------------------------------------------------------------------


def kernel_of(expr: e.Expr) -> Kernel | None:
    """The kernel of an expression over the vectors of its children; None if there is none."""
    build = _KERNELS.get(type(expr))
    return build(expr) if build else None


def supports_node(expr: e.Expr) -> bool:
    """Whether this expression can be computed here if its children can."""
    if isinstance(expr, e.Constant | e.Duration | e.ColumnRef):
        return True
    if isinstance(expr, e.InRelation):
        inner = expr.condition.expr.walk() if expr.condition is not None else ()
        return relation_terms_supported(expr) and all(map(supports_node, inner))
    return kernel_of(expr) is not None


def _arithmetic(expr: e.Arithmetic) -> Kernel:
    if expr.op == "||":
        return concatenated
    if expr.left.type == t.TIMESTAMP and expr.right.type == t.TIMESTAMP:
        return seconds_between
    if isinstance(expr.type, DecimalOf):
        return decimals.compute(expr.op, expr.left.type, expr.right.type, expr.type)  # type: ignore[arg-type]
    if isinstance(expr.right, e.Duration) and expr.right.months:
        return months_later(expr.op, expr.right.months, expr.right.rest)
    return compute(expr.op, t.LONG if expr.type == t.TIMESTAMP else expr.type)


def _element(expr: e.ElementOf) -> Kernel:
    if isinstance(expr.base.type, ArrayOf):
        return element_at_place(expr.base.type.element, expr.from_end)
    return value_at_key(expr.base.type)


_KERNELS: dict[type[e.Expr], Callable[[Any], Kernel | None]] = {
    e.And: lambda expr: logic.all_of,
    e.Arithmetic: _arithmetic,
    e.CaseWhen: lambda expr: logic.case_when(expr.type),
    e.CastTo: lambda expr: cast(expr.operand.type, expr.type),
    e.Comparison: lambda expr: compare(expr.op, expr.left.type),
    e.ElementOf: _element,
    e.FieldOf: lambda expr: field_of(expr.base.type, expr.name),
    e.FunctionCall: compile_function,
    e.InList: in_list,
    e.IsNull: lambda expr: logic.is_null,
    e.Like: like,
    e.MakeStruct: lambda expr: make_struct([v.type for v in expr.values], expr.type),
    e.Negate: lambda expr: decimals.negated(expr.type) if isinstance(expr.type, DecimalOf) else negate(expr.type),
    e.Not: lambda expr: logic.negation,
    e.Or: lambda expr: logic.any_of,
}
