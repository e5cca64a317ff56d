"""Columns of SELECT over a sequence: selected variables, time, probability, method and bounds."""

from __future__ import annotations

from dataclasses import dataclass

from presage.analyze.problems import Problems
from presage.analyze.scope import Scope
from presage.errors import error
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.catalog import PROBABILITY
from presage.model.text import Span
from presage.plan.expr import ColumnRef
from presage.plan.nodes import Field, Named, is_own_name

# Columns of the answer other than the selected variables.
AT, METHOD, LOW, HIGH = "at", "method", "probability_low", "probability_high"
BOUNDS = ((METHOD, t.STRING), (LOW, t.DOUBLE), (HIGH, t.DOUBLE))
OWN = (AT, PROBABILITY, METHOD, LOW, HIGH)

Kinds = dict[str, t.DataType]


@dataclass
class SequenceScope(Scope):
    """The variables of a sequence; `inner` are visible only inside a Kleene plus."""

    inner: frozenset[str] = frozenset()

    def unknown(self, name: str, span: Span) -> Exception:
        if name not in self.inner:
            return super().unknown(name, span)
        fix = f"ask inside the braces, +{{… | …}}, or share it: write +{{{name}}}"
        return error("UNKNOWN_ATTRIBUTE", span, owner=self.items[0].title, name=name, fix=fix)


@dataclass
class SubgoalScope(Scope):
    """The variables of one subgoal; `others` are those of subgoals before it."""

    others: frozenset[str] = frozenset()

    def unknown(self, name: str, span: Span) -> Exception:
        if name not in self.others:
            return super().unknown(name, span)
        fix = "it chooses candidates by their own values; ask in the WHERE of the statement, behind the brackets"
        return error("UNKNOWN_ATTRIBUTE", span, owner=self.items[0].title, name=name, fix=fix)


@dataclass(frozen=True)
class Selected:
    """An item of SELECT: a variable, or one of the answer's own columns."""

    output: str
    name: str
    variable: bool
    span: Span

    def column(self, kinds: Kinds) -> str:
        return variable_column(self.name, kinds) if self.variable else own_column(self.name)


def own_column(name: str) -> str:
    return f"sequence.{name}"


def variable_column(name: str, kinds: Kinds) -> str:
    """The plan's name for a variable. A number is added if the name differs from a column of the answer or another
    variable only by case, which Spark ignores."""
    same = [n for n in (*OWN, *kinds) if n.lower() == name.lower()]
    place = len(same) - 1 - same[::-1].index(name)
    return f"sequence.{name}" + (f"~{place}" if place else "")


def refuse_clauses(query: s.Query, item: s.FromItem, problems: Problems) -> None:
    """Reject the clauses that a statement over a sequence does not support."""
    clauses: list[tuple[str, s.Node | None, str]] = [
        ("SELECT DISTINCT", query if query.distinct else None, "leave it out: its rows are distinct"),
        ("SELECT TENTATIVE", query if query.tentative else None, "leave it out: its rows never change"),
        ("GROUP BY", query.group_by[0] if query.group_by else None, "INSERT its rows INTO a stream and group that"),
        ("HAVING", query.having, "INSERT its rows INTO a stream and ask that"),
        ("OUTPUT", query.output, "INSERT its rows INTO a stream and ask that"),
        ("a window", item.windows[0] if item.windows else None, "INSERT its rows INTO a stream and window that"),
        ("a join", query.items[1] if len(query.items) > 1 else None, "INSERT its rows INTO a stream and join that"),
    ]
    for name, node, fix in clauses:
        if node is not None:
            problems.errors.append(error("UNSUPPORTED", node.span, what=name, where="over SEQUENCE […]", fix=fix))


def bind_selected(select: tuple[s.SelectItem, ...], scope: SequenceScope) -> list[Selected]:
    (variables,) = scope.items
    found: list[Selected] = []
    for item in select:
        if isinstance(item.expr, s.Star) and item.expr.of is None:
            continue
        if not isinstance(item.expr, s.Name):
            fix = "select variables; INSERT the rows INTO a stream to compute with them"
            raise error("UNSUPPORTED", item.span, what="a term", where="in SELECT over SEQUENCE […]", fix=fix)
        name = item.expr.name
        kind = variables.find(name)
        variable = kind is not None
        if isinstance(kind, t.ArrayOf | t.MapOf | t.StructOf):
            what, fix = f"the selected variable '{name}'", "select variables of plain types"
            raise error("TYPE_MISMATCH", item.span, what=what, expected="a plain type", found=kind, fix=fix)
        if not variable and name not in OWN:
            raise scope.unknown(name, item.span)
        output = item.alias or name
        if output.lower() in {other.output.lower() for other in found}:
            raise _twice(output, item.span)
        if is_own_name(output):
            what, expected = "the name of a column", "none of Presage's own names"
            fix = "give it another name with AS"
            raise error("BAD_VALUE", item.span, what=what, found=f"'{output}'", expected=expected, fix=fix)
        found.append(Selected(output, name, variable, item.span))
    return found


def answer_columns(
    selected: list[Selected], kinds: Kinds, bounds: tuple[tuple[str, t.DataType], ...]
) -> tuple[tuple[Field, ...], tuple[Named, ...]]:
    """The columns of the result, and the columns of the sequence that they show. The time is not one of these."""
    own: Kinds = {AT: t.TIMESTAMP, PROBABILITY: t.DOUBLE, **dict(bounds)}
    for item in selected:
        if not item.variable and item.name not in own:
            fix = "leave it out: the probability is exact"
            raise error("UNKNOWN_ATTRIBUTE", item.span, owner="the answer of this sequence", name=item.name, fix=fix)
        if not item.variable and item.name == AT and item.output != AT:
            raise error(
                "UNSUPPORTED", item.span, what="another name", where="for the time of a row", fix="leave AS out"
            )
    asked = {item.name for item in selected if not item.variable}
    shown = list(selected)
    for name in (name for name in own if name not in asked):
        for item in selected:
            if item.output.lower() == name:
                raise _twice(item.output, item.span)
        shown.append(Selected(name, name, False, Span(0, 0)))
    types = [kinds[item.name] if item.variable else own[item.name] for item in shown]
    fields = tuple(Field(item.output, kind) for item, kind in zip(shown, types, strict=True))
    named = tuple(
        Named(item.output, ColumnRef(kind, item.column(kinds)))
        for item, kind in zip(shown, types, strict=True)
        if item.variable or item.name != AT
    )
    return fields, named


def _twice(name: str, span: Span) -> Exception:
    fix = f"every row has a column '{name.lower()}': " if name.lower() in OWN else ""
    return error("DUPLICATE_NAME", span, name=name, where="SELECT", fix=fix + "give one of them another name with AS")
