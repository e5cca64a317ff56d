"""Builders of history: RECALL, EVENT ID, the SELECTs over history and the commands to recalls."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from presage.errors import error
from presage.lang import recall_syntax as r
from presage.lang.builders.clause import Clause, bad_value, collect_clauses, depth_over
from presage.lang.builders.query import OTHER_JOINS, Alias, EventId, Recalled
from presage.lang.builders.terms import Arguments, call, read_duration, read_number, read_string
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.scanner import MAX_DEPTH
from presage.lang.syntax import Expr, SelectItem
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span

CLAUSE_ORDER = ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")
AROUND = ("before", "after")
# A recursive walk takes several calls for each select, but one or two for an operator.
SELECT_DEPTH = 8


class Tail(NamedTuple):
    """The end of a RECALL, after its parentheses."""

    alias: Alias | None
    notes: tuple[Clause, ...]


class Source(NamedTuple):
    """A source of a select, with its alias as written and whether it is joined by JOIN."""

    node: r.HistorySource
    alias: Alias | None
    joined: bool = False


class Window(NamedTuple):
    micros: int
    span: Span


class Where(NamedTuple):
    clause: Clause
    window: Window | None


# -- selects ----------------------------------------------------------------------------------------


def history_select(
    span: Span,
    distinct: Token | None,
    items: tuple[SelectItem, ...],
    sources: tuple[r.HistorySource, ...] | None,
    *rest: Clause | Where | r.RecallClause,
) -> r.HistorySelect:
    recalls = tuple(part for part in rest if isinstance(part, r.RecallClause))
    for before, part in pairwise(rest):
        if isinstance(part, r.RecallClause) and not isinstance(before, r.RecallClause):
            word = Span(part.span.start, part.span.start + len("RECALL"))
            fix = "write it before WHERE and the other clauses"
            raise error("SYNTAX", word, found="RECALL", expected="it after FROM", fix=fix)
    clauses = [part for part in rest if not isinstance(part, r.RecallClause)]
    where = next((clause for clause in clauses if isinstance(clause, Where)), None)
    plain = tuple(clause.clause if isinstance(clause, Where) else clause for clause in clauses)
    fields = collect_clauses(plain, CLAUSE_ORDER)
    sources = sources or ()
    if where is not None and where.window is not None:
        sources = _windowed(sources, where.window)
    select = r.HistorySelect(items, sources, distinct is not None, **fields, recalls=recalls, span=span)
    _depth(span, select)
    return select


def _windowed(sources: tuple[r.HistorySource, ...], window: Window) -> tuple[r.HistorySource, ...]:
    """The sources with the WINDOW of the select, where a named source has none of its own."""
    open_sources = [source for source in sources if source.select is None and source.window is None]
    if not open_sources:
        fix = "leave it out, or name the stream that it is for in FROM"
        raise error("SYNTAX", window.span, found="a WINDOW for no source", expected="a source without one", fix=fix)
    return tuple(replace(source, window=window.micros) if source in open_sources else source for source in sources)


def _depth(span: Span, select: r.HistorySelect) -> int:
    """The depth of a select, limited so that no recursive walk exhausts the stack."""
    terms: list[Expr | None] = [item.expr for item in select.select]
    terms += [select.where, select.having, *select.group_by, *(term.expr for term in select.order_by)]
    terms += [source.on for source in select.sources]
    inner = [term.depth for term in terms if term is not None]
    inner += [_depth(source.select.span, source.select) for source in select.sources if source.select is not None]
    inner += [_depth(recall.select.span, recall.select) for recall in select.recalls]
    depth = SELECT_DEPTH + max(inner, default=0)
    if depth > MAX_DEPTH:
        raise error("QUERY_TOO_DEEP", Span(span.start, span.start + len("SELECT")), limit=MAX_DEPTH)
    return depth


def history_from(span: Span, *sources: Source) -> tuple[r.HistorySource, ...]:
    for source, following in pairwise(sources):
        word = source.alias.name if source.alias and source.alias.bare else None
        if following.joined and word is not None and word.text.upper() in OTHER_JOINS:
            fix = "write JOIN … ON … or LEFT JOIN … ON …"
            raise error("UNSUPPORTED", word.span, what=f"{word.text.upper()} JOIN", where="in RECALL", fix=fix)
    return tuple(source.node for source in sources)


def history_source(span: Span, name: Token, alias: Alias | None, window: Window | None) -> Source:
    micros = window.micros if window is not None else None
    node = r.HistorySource(read_name(name.text), None, _named(alias), window=micros, name_span=name.span, span=span)
    return Source(node, alias)


def history_subselect(span: Span, select: r.HistorySelect, alias: Alias | None) -> Source:
    if alias is None:
        fix = "name it: ( SELECT … ) AS h"
        raise error("SYNTAX", span, found="a SELECT without a name", expected="an alias after it", fix=fix)
    return Source(r.HistorySource("", select, _named(alias), name_span=select.span, span=span), alias)


def history_join(span: Span, outer: bool | None, source: Source, on: Expr) -> Source:
    return Source(replace(source.node, on=on, outer=bool(outer)), source.alias, joined=True)


def order_term(span: Span, expr: Expr, direction: Token | None, nulls_first: bool | None) -> r.OrderTerm:
    descending = direction is not None and direction.text.upper() == "DESC"
    return r.OrderTerm(expr, descending, nulls_first, span=span)


def scalar_select(span: Span, select: r.HistorySelect) -> r.ScalarSelect:
    return r.ScalarSelect(select, span=span, depth=_depth(span, select))


def exists(span: Span, word: Token, select: r.HistorySelect) -> r.Exists:
    return r.Exists(select, span=span, depth=_depth(span, select))


def in_select(span: Span, operand: Expr, negated: Token | None, select: r.HistorySelect) -> r.InSelect:
    depth = max(operand.depth + 1, _depth(span, select))
    if depth > MAX_DEPTH:
        raise error("QUERY_TOO_DEEP", span, limit=MAX_DEPTH)
    return r.InSelect(operand, select, negated is not None, span=span, depth=depth)


def over(
    span: Span,
    name: Token,
    args: Arguments | None,
    word: Token,
    partition: tuple[Expr, ...] | None,
    order: tuple[r.OrderTerm, ...] | None,
) -> r.Over:
    called = call(Span(span.start, word.span.start), name, args)
    parts, terms = partition or (), order or ()
    depth = depth_over(span, called, *parts, *(term.expr for term in terms))
    return r.Over(called, parts, terms, span=span, depth=depth)


def refuse_subqueries(tree: object) -> None:
    """Reject selects within terms and window functions outside of RECALL."""
    for node in nodes_of(tree, leave_out=(r.RecallClause, r.SimilarClause)):
        if isinstance(node, r.Over):
            where = "in queries: only the select of a RECALL has it"
            fix = "write a window after the stream, such as R#time(5 min), or RECALL"
            raise error("UNSUPPORTED", node.span, what="OVER", where=where, fix=fix)
    found = [
        node.select.span.start
        for node in nodes_of(tree, leave_out=(r.RecallClause, r.SimilarClause))
        if isinstance(node, r.ScalarSelect | r.InSelect | r.Exists)
    ]
    if found:
        place = Span(min(found), min(found) + len("SELECT"))
        fix = "INSERT INTO a stream and read that"
        raise error("UNSUPPORTED", place, what="a subquery", where="in queries", fix=fix)


# -- RECALL -----------------------------------------------------------------------------------------


def recall(span: Span, final: Token | None, last: int | None, select: r.HistorySelect, tail: Tail) -> Recalled:
    for note in tail.notes:
        if note.field in AROUND:
            fix = "write RECALL SIMILAR k ( … ), or leave it out"
            raise error("SYNTAX", note.span, found=note.word, expected="it with SIMILAR only", fix=fix)
    alias = _alias(span, tail, "r")
    pace = _pace(tail.notes)
    clause = r.RecallClause(select, _named(alias) or "", last, final is not None, pace, span=span)
    return Recalled(clause, alias)


def context_recall(span: Span, last: int | None, select: r.HistorySelect, alias: Alias | None) -> r.RecallClause:
    named = _alias(span, Tail(alias, ()), "r")
    return r.RecallClause(select, _named(named) or "", last, span=span)


def similar(
    span: Span,
    final: Token | None,
    last: int | None,
    count: int,
    parts: tuple[r.HistorySelect | r.NamedSelect | Clause, ...] | None,
    tail: Tail,
) -> Recalled:
    contexts = tuple(part for part in parts or () if isinstance(part, r.HistorySelect))
    if not contexts:
        fix = "say what is compared: SIMILAR 5 ( CONTEXT SELECT … ) AS s"
        raise error("SYNTAX", span, found="SIMILAR without a CONTEXT", expected="CONTEXT SELECT …", fix=fix)
    alias = _alias(span, tail, "s")
    returned = tuple(part for part in parts or () if isinstance(part, r.NamedSelect))
    inside = tuple(part for part in parts or () if isinstance(part, Clause))
    around = tuple(note for note in tail.notes if note.field in AROUND)
    fields = collect_clauses((*inside, *around))
    pace = _pace(tuple(note for note in tail.notes if note.field not in AROUND))
    name = _named(alias) or ""
    clause = r.SimilarClause(
        count, contexts, name, returned, **fields, last=last, final=final is not None, pace=pace, span=span
    )
    return Recalled(clause, alias)


def _alias(span: Span, tail: Tail, example: str) -> Alias:
    if tail.alias is None:
        fix = f"name what is recalled: RECALL … ( … ) AS {example}"
        raise error("SYNTAX", span, found="a RECALL without a name", expected="an alias after it", fix=fix)
    return tail.alias


def _pace(notes: tuple[Clause, ...]) -> r.Pace:
    if not notes:
        return r.Pace()
    return r.Pace(**collect_clauses(notes), span=notes[0].span.to(notes[-1].span))


def _pace_clause(word: str, value: int, span: Span) -> Clause:
    return Clause(word, word.lower().replace(" ", "_"), value, span)


def recall_tail(span: Span, *parts: Clause | Alias) -> Tail:
    alias = next((part for part in parts if isinstance(part, Alias)), None)
    return Tail(alias, tuple(part for part in parts if isinstance(part, Clause)))


def around(span: Span, word: Token, duration: Token) -> Clause:
    return Clause(word.text.upper(), word.text.lower(), read_duration(duration), span)


def bandwidth(span: Span, name: Token, sign: Token | None, number: Token) -> r.Bandwidth:
    width = float(read_number(number))
    if width <= 0 or (sign is not None and sign.text == "-"):
        found = f"{sign.text if sign else ''}{number.text}"
        what, fix = f"the BANDWIDTH of {name.text}", "say how far apart two alike numbers may be"
        raise error("BAD_VALUE", number.span, what=what, found=found, expected="more than 0", fix=fix)
    return r.Bandwidth(read_name(name.text), width, span=span)


def _named(alias: Alias | None) -> str | None:
    return read_name(alias.name.text) if alias is not None else None


def _positive(what: str, token: Token) -> int:
    micros = read_duration(token)
    if micros == 0:
        raise bad_value(token, what, "more than 0", "write a longer duration, or leave it out")
    return micros


def _count(what: str, sign: Token | None, number: Token, least: int) -> int:
    """A whole number, of at least `least`."""
    value = read_number(number)
    negative = sign is not None and sign.text == "-"
    if not isinstance(value, int) or value < least or (negative and value > 0):
        place = number.span if sign is None else sign.span.to(number.span)
        found = f"{sign.text if sign else ''}{number.text}"
        expected = f"a whole number of at least {least}"
        raise error("BAD_VALUE", place, what=what, found=found, expected=expected, fix=f"write {max(least, 1)} or more")
    return value


BUILDERS: dict[str, Builder] = {
    "event_id": lambda span, word, *terms: EventId(terms),
    "recall": recall,
    "similar": similar,
    "recall_last": lambda span, duration: _positive("LAST of RECALL", duration),
    "similar_count": lambda span, sign, number: _count("SIMILAR", sign, number, 1),
    "recall_unnamed": recall_tail,
    "recall_tail": recall_tail,
    "report_every": lambda span, word, every: _pace_clause("REPORT EVERY", _positive("REPORT EVERY", every), span),
    "pause_every": lambda span, word, sign, number: _pace_clause(
        "PAUSE EVERY", _count("PAUSE EVERY … CHUNKS", sign, number, 1), span
    ),
    "drop_after": lambda span, word, after: _pace_clause("DROP AFTER", _positive("DROP AFTER", after), span),
    "around": around,
    "similar_parts": lambda span, *parts: parts,
    "similar_next": lambda span, comma, part: part,
    "similar_context": lambda span, select: select,
    "similar_with": lambda span, name, select: r.NamedSelect(read_name(name.text), select, span=span),
    "context_recall": context_recall,
    "bandwidths": lambda span, word, *widths: Clause("BANDWIDTH", "bandwidths", widths, span),
    "bandwidth": bandwidth,
    "history_select": history_select,
    "history_from": history_from,
    "history_comma": lambda span, source: source,
    "history_join": history_join,
    "inner_join": lambda span: False,
    "left_join": lambda span, *_: True,
    "history_source": history_source,
    "history_subselect": history_subselect,
    "history_window": lambda span, duration: Window(_positive("WINDOW", duration), span),
    "history_where": lambda span, condition, window: Where(Clause("WHERE", "where", condition, span), window),
    "history_order": lambda span, *terms: Clause("ORDER BY", "order_by", terms, span),
    "order_term": order_term,
    "nulls": lambda span, place: place.text.upper() == "FIRST",
    "history_limit": lambda span, sign, number: Clause("LIMIT", "limit", _count("LIMIT", sign, number, 0), span),
    "over": over,
    "over_partition": lambda span, *terms: terms,
    "over_order": lambda span, *terms: terms,
    "scalar_select": scalar_select,
    "exists": exists,
    "in_select": in_select,
    "recall_command": lambda span, action, event_id, of: r.RecallCommand(
        action.text.lower(), read_string(event_id), read_name(of.text) if of else None, span=span
    ),
}
