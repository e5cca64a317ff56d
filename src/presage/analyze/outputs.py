"""The columns of SELECT, bound, under the names that the user sees."""

from __future__ import annotations

from collections import Counter

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import OF_DELTA, OF_SPARK, refuse_same_name
from presage.analyze.problems import Problems
from presage.analyze.scope import Scope
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.printer import print_expression
from presage.model.text import Span
from presage.plan.nodes import Named, is_own_name


def bind_outputs(query: s.Query, scope: Scope, binder: ExpressionBinder, problems: Problems) -> list[Named]:
    stars = {item.span for item in query.select if isinstance(item.expr, s.Star)}
    bound: list[tuple[Named, str, bool, Span]] = []  # column, qualified name, whether AS named it, place
    for item in query.select:
        made = problems.attempt(lambda item=item: _bind_item(item, scope, binder))  # type: ignore[misc]
        bound.extend((*column, item.span) for column in made or [])
    short = Counter(named.name.lower() for named, _, _, _ in bound)
    places: dict[str, set[Span]] = {}
    for named, _, _, span in bound:
        places.setdefault(named.name.lower(), set()).add(span)
    # Columns of one star never clash: their names differ, if only in case.
    shown_only = _only_shown(query)
    shown = [c[0] for c in bound if c[3] in stars and len(places[c[0].name.lower()]) == 1] if shown_only else []
    starred = {id(named) for named in shown}
    outputs: list[Named] = []
    seen: dict[str, list[str]] = {}
    for named, qualified, explicit, span in bound:
        # Two columns of one short name (a.car, b.car) both take their qualified names.
        alone = short[named.name.lower()] == 1 or id(named) in starred
        name = named.name if explicit or alone else qualified
        same = seen.setdefault(name.lower(), [])
        clashes = [other for other in same if other == name] if shown_only else same
        fix, why = "give one of them another name with AS", OF_DELTA if query.insert_into is not None else OF_SPARK
        if clashes:
            problems.attempt(lambda: refuse_same_name(name, clashes, "SELECT", span, fix, why))  # noqa: B023 (called at once)
            continue
        if is_own_name(name):
            what, expected, fix = "the name of a column", "none of Presage's own names", "give it another name with AS"
            problems.errors.append(error("BAD_VALUE", span, what=what, found=f"'{name}'", expected=expected, fix=fix))
        same.append(name)
        outputs.append(Named(name, named.expr))
    return outputs


def _only_shown(query: s.Query) -> bool:
    """Whether the rows are only shown. Their names may then differ only in case, as M and m in a query of EPL's paper;
    to Spark these would be one column."""
    return query.insert_into is None and not query.distinct and query.output is None


def _bind_item(item: s.SelectItem, scope: Scope, binder: ExpressionBinder) -> list[tuple[Named, str, bool]]:
    if isinstance(item.expr, s.Star):
        return _bind_star(item.expr, scope)
    expr = binder.bind(item.expr)
    if item.alias:
        return [(Named(item.alias, expr), item.alias, True)]
    text = print_expression(item.expr)
    return [(Named(_short_name(item.expr) or text, expr), text, False)]


def _bind_star(star: s.Star, scope: Scope) -> list[tuple[Named, str, bool]]:
    if star.of is not None:
        item = scope.item(star.of)
        if item is None:
            fix = did_you_mean(star.of, [i.alias for i in scope.items])
            raise error("UNKNOWN_ALIAS", star.span, name=star.of, fix=fix)
        item.check_bound(star.span)
        if item.repeated:
            return [(Named(item.alias, item.as_struct()), item.alias, False)]
        columns = zip(item.attributes, item.all_columns(), strict=True)
        return [(Named(name, column), f"{item.alias}.{name}", False) for (name, _), column in columns]
    shown = [item for item in scope.items if not item.aside]
    if len(shown) == 1 and not shown[0].grouped:
        columns = zip(shown[0].attributes, shown[0].all_columns(), strict=True)
        return [(Named(name, column), name, False) for (name, _), column in columns]
    return [(Named(item.alias, item.as_struct()), item.alias, False) for item in shown]


def _short_name(expr: s.Expr) -> str | None:
    """The last part of a path: `camera` for `a.camera`."""
    if isinstance(expr, s.Name | s.Member):
        return expr.name
    return None
