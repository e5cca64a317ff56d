"""The binder of f(x, …) OVER (…) in a select of history."""

from __future__ import annotations

from typing import NamedTuple

from presage.analyze.expressions import ExpressionBinder
from presage.errors import did_you_mean, error, unsupported
from presage.functions.aggregates import AggregateFunction, aggregates
from presage.lang import syntax as s
from presage.lang.recall_syntax import OrderTerm, Over
from presage.model.types import DOUBLE, LONG, DataType, common_type, is_orderable
from presage.operators.recall.nodes import Order, Windowed
from presage.plan.expr import AggregateCall, Constant, Expr
from presage.plan.nodes import Named


class _Ranking(NamedTuple):
    """A function of the place of a row: how many arguments it takes, and its type (None: that of its argument)."""

    least: int
    most: int
    type: DataType | None


RANKINGS = {
    **dict.fromkeys(("row_number", "rank", "dense_rank"), _Ranking(0, 0, LONG)),
    **dict.fromkeys(("percent_rank", "cume_dist"), _Ranking(0, 0, DOUBLE)),
    "ntile": _Ranking(1, 1, LONG),
    **dict.fromkeys(("lag", "lead"), _Ranking(1, 3, None)),
}


def bind_over(written: Over, name: str, terms: ExpressionBinder) -> Windowed:
    """`terms` binds the terms inside, in which a window function is an error."""
    function = written.call.name.lower()
    partition = tuple(terms.bind(term) for term in written.partition)
    sort, order = _order(written.order, terms)
    if function in RANKINGS:
        if not order:
            found, fix = f"{written.call.name} without an order", "write ORDER BY h.at, say, in its brackets"
            raise error("SYNTAX", written.span, found=found, expected="ORDER BY in OVER", fix=fix)
        args, kind = _ranked(written.call, terms)
    else:
        bound = terms.bind(written.call)
        if not isinstance(bound, AggregateCall) or bound.function not in _before_over() or bound.distinct:
            fix = did_you_mean(function, [*_before_over(), *RANKINGS])
            raise unsupported(written.call.span, f"{written.call.name}(…)", "before OVER", fix)
        args, kind = (bound,), bound.type
    return Windowed(name, function, args, partition, sort, order, kind)


def _before_over() -> list[str]:
    """Aggregates whose value over rows does not depend on the order of equal rows."""
    return [each.name for each in aggregates() if type(each).over is not AggregateFunction.over]


def _order(written: tuple[OrderTerm, ...], terms: ExpressionBinder) -> tuple[tuple[Named, ...], tuple[Order, ...]]:
    sort, order = [], []
    for i, term in enumerate(written):
        expr = terms.bind(term.expr)
        sort.append(Named(f"_s{i}", expr))
        order.append(order_by(f"_s{i}", term, expr))
    return tuple(sort), tuple(order)


def order_by(name: str, term: OrderTerm, expr: Expr) -> Order:
    """A term of ORDER BY, whose values are in the column `name`. In ascending order nulls come first."""
    if not is_orderable(expr.type):
        expected = "values that can be compared"
        raise error("TYPE_MISMATCH", term.span, what="ORDER BY", expected=expected, found=expr.type)
    first = not term.descending if term.nulls_first is None else term.nulls_first
    return Order(name, term.descending, first)


def _ranked(call: s.Call, terms: ExpressionBinder) -> tuple[tuple[Expr, ...], DataType]:
    ranking = RANKINGS[call.name.lower()]
    if call.distinct or not ranking.least <= len(call.args) <= ranking.most:
        wanted = str(ranking.least) if ranking.least == ranking.most else f"{ranking.least} to {ranking.most}"
        raise error("WRONG_ARGUMENTS", call.span, name=call.name, expected=f"{wanted} arguments", found=len(call.args))
    args = tuple(terms.bind(arg) for arg in call.args)
    counts = args if call.name.lower() == "ntile" else args[1:2]
    for count in counts:
        if not (isinstance(count, Constant) and isinstance(count.value, int) and count.value >= 1):
            what, expected = f"the number of {call.name}", "a whole number of at least 1"
            raise error("BAD_VALUE", count.span, what=what, found="something else", expected=expected)
    if ranking.type is not None:
        return args, ranking.type
    kind = common_type(args[0].type, args[2].type) if len(args) == 3 else args[0].type
    if kind is None or kind != args[0].type:
        what = f"what {call.name} gives where there is no row"
        raise error("TYPE_MISMATCH", call.span, what=what, expected=args[0].type, found=args[2].type)
    return args, kind
