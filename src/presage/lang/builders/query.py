"""Builders of queries: SELECT, its items of FROM with their windows, and its clauses."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from presage.errors import error
from presage.lang import syntax as s
from presage.lang.builders.clause import Clause, bad_value, collect_clauses
from presage.lang.builders.terms import all_of, read_fixed, read_number
from presage.lang.identifiers import read_name
from presage.lang.knowledge_syntax import ClausePart, JoinPart
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.match_syntax import MatchClause
from presage.lang.pattern_syntax import PatternSource
from presage.lang.recall_syntax import RecallClause, SimilarClause
from presage.lang.sequence_syntax import SequenceItem
from presage.model.text import Span

CLAUSE_ORDER = ("WITHIN", "WHERE", "GROUP BY", "HAVING", "OUTPUT", "WITH PROBABILITY", "APPROXIMATE", "VALIDATE EVERY")
# EPL's namespaces of windows; they are redundant.
NAMESPACES = ("win", "std")
# Words of SQL's other joins, which the grammar reads as an alias: FROM A LEFT JOIN B.
OTHER_JOINS = ("LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "SEMI", "ANTI")


class StreamSource(NamedTuple):
    """`R`, `R(cond)` or PREDICTED before one of them: the source of a FromItem."""

    name: Token
    condition: s.Expr | None
    predicted: bool = False


class ValidWindow(NamedTuple):
    """`WINDOW 3 sec` after an item: how far apart in time two values may be."""

    micros: int
    span: Span


class Alias(NamedTuple):
    name: Token
    bare: bool


class EventId(NamedTuple):
    """`EVENT ID (a, …)` after an item."""

    terms: tuple[s.Expr, ...]


class Recalled(NamedTuple):
    """A RECALL after an item, with its alias as written."""

    clause: RecallClause | SimilarClause
    alias: Alias


class EventSource(NamedTuple):
    """`(?e, R)`, which is `R AS e`."""

    alias: Token
    name: Token


class Joined(NamedTuple):
    """An item, with its last alias if that is without AS, and whether it is joined by JOIN."""

    item: s.FromItem
    bare_alias: Token | None
    joined: bool = False


class FromList(NamedTuple):
    """The items of FROM, and the JOINs of the clause form after them."""

    items: tuple[s.FromItem, ...]
    joins: tuple[JoinPart, ...]


class Where(NamedTuple):
    """WHERE with JOINs of the clause form after its condition."""

    clause: Clause
    joins: tuple[JoinPart, ...]


def query(
    span: Span,
    *parts: s.Prefix | Token | Clause | Where | FromList | tuple[s.SelectItem, ...] | tuple[ClausePart, ...] | None,
) -> s.Query:
    prefixes = tuple(part for part in parts if isinstance(part, s.Prefix))
    insert, tentative, distinct, select, listed, *clauses = parts[len(prefixes) :]
    assert isinstance(select, tuple)
    assert isinstance(listed, FromList)
    plain: list[Clause] = []
    form: list[ClausePart] = list(listed.joins)
    for clause in clauses:
        if isinstance(clause, Where):
            plain.append(clause.clause)
            form.extend(clause.joins)
        elif isinstance(clause, Clause):
            plain.append(clause)
        elif isinstance(clause, tuple):
            form.extend(part for part in clause if isinstance(part, ClausePart))
    fields = collect_clauses(tuple(plain), CLAUSE_ORDER)
    return s.Query(
        select=select,  # type: ignore[arg-type]
        items=listed.items,
        parts=tuple(form),
        prefixes=prefixes,
        insert_into=read_name(insert.text) if isinstance(insert, Token) else None,
        tentative=tentative is not None,
        distinct=distinct is not None,
        **fields,
        span=span,
    )


def prefix(span: Span, name: Token, iri: Token) -> s.Prefix:
    return s.Prefix(name.text[:-1], iri.text[1:-1], span=span)


def select_item(span: Span, expr: s.Expr, alias: Token | None) -> s.SelectItem:
    return s.SelectItem(expr, read_name(alias.text) if alias else None, span=span)


def from_item(
    span: Span,
    source: StreamSource | EventSource | PatternSource | SequenceItem,
    *rest: s.WindowClause | MatchClause | Alias | ValidWindow | EventId | Recalled | None,
) -> Joined:
    windows = tuple(part for part in rest if isinstance(part, s.WindowClause))
    alias = next((part for part in rest if isinstance(part, Alias)), None)
    match = next((part for part in rest if isinstance(part, MatchClause)), None)
    name = read_name(alias.name.text) if alias else None
    if isinstance(source, EventSource):
        if alias is not None:
            fix = f"leave out {alias.name.text}: the event goes by {source.alias.text}"
            raise error("SYNTAX", alias.name.span, found="an alias", expected="none after (?e, Stream)", fix=fix)
        name, source = source.alias.text[1:], StreamSource(source.name, None)
    if isinstance(source, PatternSource):
        item = s.FromItem("", None, windows, name, pattern=source, match=match, name_span=source.span, span=span)
    elif isinstance(source, SequenceItem):
        item = s.FromItem("", None, windows, name, match=match, sequence=source, name_span=source.span, span=span)
    else:
        stream, condition = read_name(source.name.text), source.condition
        place = source.name.span
        item = s.FromItem(stream, condition, windows, name, match=match, name_span=place, span=span)
        item = replace(item, predicted=source.predicted)
    valid = next((part for part in rest if isinstance(part, ValidWindow)), None)
    if valid is not None and not item.predicted:
        fix = "write PREDICTED before the stream, or #time(…) after it for a window of events"
        raise error("SYNTAX", valid.span, found="WINDOW with a duration", expected="it after PREDICTED only", fix=fix)
    item = item if valid is None else replace(item, valid_window=valid.micros)
    last = alias
    event_id = next((part for part in rest if isinstance(part, EventId)), None)
    recalled = [part for part in rest if isinstance(part, Recalled)]
    if event_id is not None or recalled:
        terms, clauses = event_id.terms if event_id else (), tuple(part.clause for part in recalled)
        item, last = replace(item, event_id=terms, recalls=clauses), recalled[-1].alias if recalled else None
    return Joined(item, last.name if last and last.bare else None)


def join_item(span: Span, right: Joined, on: s.Expr, analysis: str | None) -> Joined:
    return Joined(replace(right.item, on=on, analysis=analysis), right.bare_alias, joined=True)


def from_list(span: Span, *parts: Joined | JoinPart) -> FromList:
    items = [part for part in parts if isinstance(part, Joined)]
    for item, following in pairwise(items):
        word = item.bare_alias
        if following.joined and word is not None and word.text.upper() in OTHER_JOINS:
            fix = "write JOIN … ON …, which keeps the pairs that match"
            raise error("UNSUPPORTED", word.span, what=f"{word.text.upper()} JOIN", where="in queries", fix=fix)
    joins = tuple(part for part in parts if isinstance(part, JoinPart))
    return FromList(tuple(item.item for item in items), joins)


def stream_source(span: Span, name: Token, condition: s.Expr | None) -> StreamSource:
    return StreamSource(name, condition)


def window(span: Span, name: Token, qualified: Token | None, args: tuple[s.Expr, ...] | None) -> s.WindowClause:
    if qualified is not None:
        namespace, name = name, qualified
        if namespace.text.lower() not in NAMESPACES:
            whole, fix = f"{namespace.text}:{name.text}", "the namespaces are win and std, and both may be left out"
            raise error("UNKNOWN_WINDOW", namespace.span.to(name.span), name=whole, fix=fix)
    return s.WindowClause(read_name(name.text), args or (), span=span)


def filters(span: Span, *conditions: s.Expr) -> s.Expr:
    """Filters joined by commas must all hold."""
    return conditions[0] if len(conditions) == 1 else all_of(span, *conditions)


def output(span: Span, mode: Token | None, every: Token) -> Clause:
    clause = s.OutputClause(mode.text.lower() if mode else "all", read_fixed(every, "OUTPUT EVERY"), span=span)
    return Clause("OUTPUT", "output", clause, span)


def output_at_end(span: Span, mode: Token) -> Clause:
    return Clause("OUTPUT", "output", s.OutputClause(mode.text.lower(), None, span=span), span)


def probability(span: Span, mark: Token, threshold: Token) -> Clause:
    value = float(read_number(threshold))
    if value > 1:
        raise bad_value(threshold, "WITH PROBABILITY", "a number from 0 to 1")
    clause = s.ProbabilityClause(mark.text == ">", value, span=span)
    return Clause("WITH PROBABILITY", "probability", clause, span)


def approximate(span: Span, *parts: Clause) -> Clause:
    # The defaults of the language (docs/capabilities/probability.md).
    given = {"error": 0.05, "confidence": 0.95} | collect_clauses(parts)
    return Clause("APPROXIMATE", "approximate", s.ApproximateClause(**given, span=span), span)


def approximation(span: Span, word: Token, value: Token) -> Clause:
    number = float(read_number(value))
    if not 0 < number < 1:
        raise bad_value(value, f"{word.text.upper()} of APPROXIMATE", "a number between 0 and 1")
    return Clause(word.text.upper(), word.text.lower(), number, span)


BUILDERS: dict[str, Builder] = {
    "query": query,
    "prefix": prefix,
    "insert_into": lambda span, name: name,
    "select_list": lambda span, *items: items,
    "select_item": select_item,
    "from_list": from_list,
    "comma_item": lambda span, item: item,
    "join_item": join_item,
    "analysis": lambda span, word: word.text.lower(),
    "from_item": from_item,
    "alias": lambda span, name: Alias(name, bare=False),
    "bare_alias": lambda span, name: Alias(name, bare=True),
    "stream_source": stream_source,
    "filters": filters,
    "window": window,
    "window_arguments": lambda span, *args: tuple(arg for arg in args if arg is not None),
    "event_source": lambda span, alias, name: EventSource(alias, name),
    "join_condition": lambda span, condition: JoinPart(condition, span=span),
    "where": lambda span, condition, *joins: Where(Clause("WHERE", "where", condition, span), joins),
    "group_by": lambda span, *keys: Clause("GROUP BY", "group_by", keys, span),
    "having": lambda span, condition: Clause("HAVING", "having", condition, span),
    "output": output,
    "output_at_end": output_at_end,
    "probability": probability,
    "approximate": approximate,
    "approximation": approximation,
}
