"""Builders of MATCH_RECOGNIZE and its clauses."""

from __future__ import annotations

from typing import NamedTuple

from presage.errors import error
from presage.lang import match_syntax as m
from presage.lang.builders.clause import Clause, bad_value, collect_clauses, depth_over
from presage.lang.builders.terms import read_number, read_span, read_string
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import DurationLiteral, Expr, RowsSeen
from presage.model.text import Span

SKIPS = {
    **dict.fromkeys(("PAST LAST ROW", "PASTLAST"), "past_last"),
    **dict.fromkeys(("TO NEXT ROW", "TONEXT"), "to_next"),
    **dict.fromkeys(("TO CURRENT ROW", "TOCURRENT"), "to_current"),
}


class Quantity(NamedTuple):
    low: int
    high: int | None


def match(span: Span, *clauses: Clause | tuple[Clause, ...]) -> m.MatchClause:
    flat: list[Clause] = []
    definitions: list[m.Definition] = []
    for clause in clauses:
        for part in clause if isinstance(clause, tuple) and not isinstance(clause, Clause) else (clause,):
            assert isinstance(part, Clause)
            if part.field == "definitions":
                definitions.extend(part.value)  # EPL repeats the word
            else:
                flat.append(part)
    fields = collect_clauses(tuple(flat))
    if "pattern" not in fields:
        word = Span(span.start, span.start + len("MATCH_RECOGNIZE"))
        raise error("SYNTAX", word, found="no PATTERN", expected="PATTERN ( … )", fix="say what rows to look for")
    fields |= fields.pop("bound", {})
    return m.MatchClause(**fields, definitions=tuple(definitions), span=span)


def match_pattern(span: Span, regex: m.RegexTerm | None, *bounds: Clause) -> tuple[Clause, ...]:
    pattern = regex if regex is not None else m.ConcatTerm((), span=span)
    return (Clause("PATTERN", "pattern", pattern, span), *bounds)


def match_within(span: Span, duration: Token) -> Clause:
    return Clause("WITHIN", "bound", {"within": _span(duration), "within_word": "WITHIN"}, span)


def match_interval(span: Span, duration: Token, terminated: bool | None) -> Clause:
    value = {"within": _span(duration), "within_word": "INTERVAL", "or_terminated": terminated is not None}
    return Clause("INTERVAL", "bound", value, span)


def match_gap(span: Span, duration: Token) -> Clause:
    return Clause("GAP", "gap", _span(duration), span)


def _span(token: Token) -> DurationLiteral:
    """A duration; a plain number counts seconds."""
    if token.kind == "NUMBER":
        found = DurationLiteral(round(float(read_number(token)) * 1_000_000), span=token.span)
    else:
        found = read_span(token)
    if found.micros <= 0:
        raise bad_value(token, "the bound of a match", "more than 0")
    return found


def match_skip(span: Span, *words: Token) -> Clause:
    texts = [word.text.upper() for word in words]
    written = " ".join(texts)
    if written in SKIPS:
        return Clause("AFTER MATCH SKIP", "skip", m.SkipClause(SKIPS[written], span=span), span)
    if len(words) in (2, 3) and texts[0] == "TO" and (len(words) == 2 or texts[1] in ("FIRST", "LAST")):
        kind = "to_first" if texts[1] == "FIRST" and len(words) == 3 else "to_last"
        return Clause("AFTER MATCH SKIP", "skip", m.SkipClause(kind, _variable(words[-1]), span=span), span)
    expected = "PAST LAST ROW, TO NEXT ROW, TO CURRENT ROW or TO [FIRST | LAST] and a variable"
    place = words[0].span.to(words[-1].span)
    raise error("SYNTAX", place, found=f"SKIP {written}", expected=expected, fix="use one of these")


def all_matches(span: Span) -> Clause:
    fix = "AFTER MATCH SKIP TO CURRENT ROW reports every match of a start row"
    raise error("UNSUPPORTED", span, what="ALL MATCHES", where="in MATCH_RECOGNIZE", fix=fix)


def subset_item(span: Span, name: str, *members: str) -> m.SubsetItem:
    return m.SubsetItem(name, members, span=span)


def _variable(token: Token) -> str:
    return read_string(token) if token.kind == "STRING" else read_name(token.text)


def quantified(span: Span, operand: m.RegexTerm, quantifier: tuple[Quantity, bool]) -> m.QuantifiedTerm:
    (low, high), reluctant = quantifier
    if high is not None and low > high:
        found, fix = f"{{{low},{high}}}", f"write {{{high},{low}}}"
        raise error("BAD_VALUE", span, what="a repeat", found=found, expected="lower bound first", fix=fix)
    return m.QuantifiedTerm(operand, low, high, reluctant, span=span, depth=depth_over(span, operand))


def exactly(span: Span, count: Token) -> Quantity:
    return Quantity(_count(count), _count(count))


def count_range(span: Span, low: Token | None, high: Token | None) -> Quantity:
    return Quantity(_count(low) if low else 0, _count(high) if high else None)


def negative(span: Span, *counts: Token | None) -> Quantity:
    found, expected = f"-{counts[0].text if counts[0] else ''}", "0 or more: it cannot be negative"
    raise error("BAD_VALUE", span, what="a repeat count", found=found, expected=expected)


def _count(token: Token) -> int:
    number = read_number(token)
    if not isinstance(number, int):
        raise bad_value(token, "a repeat count", "a whole number")
    return number


def regex_many(kind: type[m.AlternativesTerm | m.ConcatTerm | m.PermuteTerm]) -> Builder:
    def build(span: Span, *operands: m.RegexTerm) -> m.RegexTerm:
        return kind(operands, span=span, depth=depth_over(span, *operands))

    return build


def _rows_seen(final: bool) -> Builder:
    def build(span: Span, *parts: Expr | Token) -> RowsSeen:
        operand = parts[-1]
        assert isinstance(operand, Expr)
        return RowsSeen(operand, final, span=span, depth=depth_over(span, operand))

    return build


BUILDERS: dict[str, Builder] = {
    "match": match,
    "match_partition": lambda span, *keys: Clause("PARTITION BY", "partition_by", keys, span),
    "match_order": lambda span, *keys: Clause("ORDER BY", "order_by", keys, span),
    "order_key": lambda span, expr, word: m.OrderKey(expr, word is not None and word.text.upper() == "DESC", span=span),
    "match_measures": lambda span, *items: Clause("MEASURES", "measures", items, span),
    "measure": lambda span, expr, name: m.MeasureItem(expr, read_name(name.text) if name else None, span=span),
    "match_one_row": lambda span: Clause("ONE ROW PER MATCH", "rows", "one", span),
    "match_all_rows": lambda span, form: Clause("ALL ROWS PER MATCH", "rows", form or "all", span),
    "show_empty": lambda span: "all",
    "omit_empty": lambda span: "all_omit",
    "with_unmatched": lambda span: "all_unmatched",
    "match_all_matches": all_matches,
    "match_skip": match_skip,
    "match_pattern": match_pattern,
    "match_within": match_within,
    "match_interval": match_interval,
    "or_terminated": lambda span: True,
    "match_gap": match_gap,
    "match_timeout": lambda span: Clause("EMIT TIMEOUT", "emit_timeout", True, span),
    "match_subset": lambda span, *items: Clause("SUBSET", "subsets", items, span),
    "subset_item": subset_item,
    "match_define": lambda span, *items: Clause("DEFINE", "definitions", items, span),
    "definition": lambda span, name, condition: m.Definition(name, condition, span=span),
    "variable": lambda span, token: _variable(token),
    "regex_alternatives": regex_many(m.AlternativesTerm),
    "regex_sequence": regex_many(m.ConcatTerm),
    "regex_quantified": quantified,
    "quantifier": lambda span, quantity, reluctant: (quantity, reluctant is not None),
    "any_number": lambda span: Quantity(0, None),
    "at_least_one": lambda span: Quantity(1, None),
    "at_most_one": lambda span, mark: Quantity(0, 1),
    "exactly": exactly,
    "range": count_range,
    "negative": negative,
    "regex_variable": lambda span, name: m.VariableTerm(name, span=span),
    "regex_empty": lambda span: m.ConcatTerm((), span=span),
    "regex_group": lambda span, term: term,
    "regex_excluded": lambda span, term: m.ExcludedTerm(term, span=span, depth=depth_over(span, term)),
    "regex_start": lambda span: m.AnchorTerm("^", span=span),
    "regex_end": lambda span: m.AnchorTerm("$", span=span),
    "regex_permute": regex_many(m.PermuteTerm),
    "running": _rows_seen(final=False),
    "final": _rows_seen(final=True),
}
