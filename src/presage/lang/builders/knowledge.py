"""Builders of knowledge: CREATE KNOWLEDGE, CONTEXT, PATH { … } and the clause form."""

from __future__ import annotations

from presage.errors import error
from presage.lang import knowledge_syntax as k
from presage.lang.builders.clause import Clause, bad_value, depth_over
from presage.lang.builders.terms import read_number, read_span, read_string
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import DurationLiteral, Expr, Literal, Not
from presage.model.text import Span

REASONINGS = ("OWL_RL",)
WINDOW_FORMS = ("sliding", "batch")

Parts = tuple[k.ClausePart, ...]


def create_knowledge(span: Span, absent: Token | None, name: Token, *rest: Token | None) -> k.CreateKnowledge:
    *paths, reasoning = rest
    chosen = None
    if reasoning is not None:
        chosen = reasoning.text.upper()
        if chosen not in REASONINGS:
            raise bad_value(reasoning, "REASONING", "OWL_RL", "write REASONING OWL_RL, or leave it out")
    files = tuple(read_string(p) for p in paths if p)
    return k.CreateKnowledge(read_name(name.text), files, chosen, absent is not None, span=span)


def path(span: Span, token: Token) -> k.Path:
    opening = token.text.index("{") + 1
    text = token.text[opening:-1]
    body = text.strip()
    start = token.start + opening + text.find(body)
    return k.Path(body, Span(start, start + len(body)), span=span)


def not_path(span: Span, token: Token) -> Not:
    inner = path(token.span, token)
    return Not(inner, span=span, depth=depth_over(span, inner))


def event_variable(span: Span, token: Token) -> k.EventVariable:
    return k.EventVariable(token.text[1:], span=span)


def qualified(span: Span, base: Expr, term: Token) -> k.Qualified:
    prefix, _, name = term.text.partition(":")
    return k.Qualified(base, prefix, name, span=span, depth=depth_over(span, base))


# -- the clause form: every builder returns its own part and the JOINs after it ------------------------------------


def clause_filter(span: Span, word: Token, condition: Expr, *joins: k.JoinPart) -> Parts:
    return k.FilterPart(condition, span=span), *joins


def clause_sequence(span: Span, word: Token, *rest: Token | k.JoinPart) -> Parts:
    events = tuple(part.text[1:] for part in rest if isinstance(part, Token))
    if len(events) < 2:
        raise error("SYNTAX", span, found="SEQ of one event", expected="two events or more", fix="leave SEQ out")
    return k.SequencePart(events, span=span), *(part for part in rest if isinstance(part, k.JoinPart))


def clause_window(span: Span, word: Token, *rest: Token | k.JoinPart) -> Parts:
    terms = [part for part in rest if isinstance(part, Token)]
    events: list[str] = []
    form = WINDOW_FORMS[0]
    while terms and terms[0].kind == "EVENT_VARIABLE":
        events.append(terms.pop(0).text[1:])
    if terms and terms[0].kind == "NAME":
        named = terms.pop(0)
        form = named.text.lower()
        if form not in WINDOW_FORMS:
            raise bad_value(named, "the form of WINDOW", " or ".join(WINDOW_FORMS))
    if not events or len(terms) != 1 or terms[0].kind not in ("DURATION", "NUMBER"):
        expected, fix = "events, sliding or batch, and a size", "write WINDOW (?e, sliding, 5 min)"
        raise error("SYNTAX", span, found="WINDOW with other terms", expected=expected, fix=fix)
    (size,) = terms
    joins = (part for part in rest if isinstance(part, k.JoinPart))
    return k.WindowPart(tuple(events), form, _size(size), span=span), *joins


def _size(token: Token) -> DurationLiteral | Literal:
    if token.kind == "DURATION":
        return read_span(token)
    return Literal(read_number(token), span=token.span)


def clause_paths(span: Span, condition: Expr, *joins: k.JoinPart) -> Parts:
    return k.PathPart(condition, span=span), *joins


BUILDERS: dict[str, Builder] = {
    "create_knowledge": create_knowledge,
    "refresh_knowledge": lambda span, name: k.RefreshKnowledge(read_name(name.text), span=span),
    "context": lambda span, path: Clause("CONTEXT", "context", read_string(path), span),
    "path": path,
    "not_path": not_path,
    "event_variable": event_variable,
    "qualified": qualified,
    "clause_filter": clause_filter,
    "clause_sequence": clause_sequence,
    "clause_window": clause_window,
    "clause_paths": clause_paths,
    "clause_join": lambda span, condition: k.JoinPart(condition, span=span),
    "where_clauses": lambda span, parts: parts,
    "where_joins": lambda span, *joins: joins,
}
