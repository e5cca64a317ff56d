"""The evaluator of plan expressions over Arrow tables, with exactly the values that Spark gives.

No row fails: division by zero, overflow and unreadable texts give NULL. Expressions that cannot be computed here to
the last digit go to the fallback (Catalyst), in one call for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from presage.columnar.compile import Batch, Nodes, supports_node
from presage.columnar.vectors import Bools, Vector, flat_from_arrow, to_array, truth
from presage.errors import error
from presage.plan.display import show
from presage.plan.expr import Expr

Fallback = Callable[[Sequence[Expr], pa.Table], list[pa.Array]]


def supports(expr: Expr) -> bool:
    """Whether the whole expression can be computed here."""
    return all(map(supports_node, expr.walk()))


class Evaluator:
    """Computes expressions over tables. Compiles an expression on first use, by identity: callers keep a reference.

    `relations` gives the tables of the relations that expressions name; `fallback` computes what is not supported.
    """

    def __init__(self, relations: Mapping[str, pa.Table] | None = None, fallback: Fallback | None = None) -> None:
        self._nodes = Nodes(relations or {})
        self._fallback = fallback

    def column(self, expr: Expr, table: pa.Table) -> pa.Array:
        """One array of `to_arrow(expr.type)`, as long as the table."""
        return self.columns([expr], table)[0]

    def columns(self, exprs: Sequence[Expr], table: pa.Table) -> list[pa.Array]:
        batch, rows = Batch(table), table.num_rows
        found: list[pa.Array] = []
        unsupported: list[int] = []
        for i, expr in enumerate(exprs):
            node = self._nodes.node(expr)
            if node is None:
                unsupported.append(i)
            found.append(None if node is None else to_array(node.value(batch), expr.type, rows))
        if unsupported:
            answers = self._call_fallback([exprs[i] for i in unsupported], table)
            for i, answer in zip(unsupported, answers, strict=True):
                found[i] = answer
        return found

    def mask(self, condition: Expr, table: pa.Table) -> Bools:
        """The rows for which the condition is true; NULL is not."""
        return self.masks([condition], table)[0]

    def masks(self, conditions: Sequence[Expr], table: pa.Table) -> list[Bools]:
        """As `mask`, for several conditions: common subexpressions are computed once."""
        nodes = [self._nodes.node(condition) for condition in conditions]
        unsupported = [condition for condition, node in zip(conditions, nodes, strict=True) if node is None]
        answers = iter(self._call_fallback(unsupported, table) if unsupported else [])
        batch, rows = Batch(table), table.num_rows
        return [truth(flat_from_arrow(next(answers)) if n is None else n.value(batch), rows) for n in nodes]

    def computes(self, expr: Expr) -> bool:
        """As `supports`, cached."""
        return self._nodes.node(expr) is not None

    def vector(self, expr: Expr, table: pa.Table) -> Vector:
        """The internal form of a column; only for supported expressions."""
        node = self._nodes.node(expr)
        assert node is not None
        return node.value(Batch(table))

    def _call_fallback(self, exprs: list[Expr], table: pa.Table) -> list[pa.Array]:
        if self._fallback is None:
            raise error("INTERNAL", exprs[0].span, what=f"{show(exprs[0])} cannot be computed without Spark")
        return self._fallback(exprs, table)
