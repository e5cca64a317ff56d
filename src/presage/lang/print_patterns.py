"""The printer of EPL patterns and MATCH_RECOGNIZE, with as few parentheses as the tree allows."""

from __future__ import annotations

from presage.errors import error
from presage.lang import match_syntax as m
from presage.lang import pattern_syntax as p
from presage.lang.identifiers import spell_name
from presage.lang.print_terms import print_expression
from presage.lang.syntax import Expr, Index, Member, Method

# Levels of binding in a pattern, from loose to tight, as patterns.lark has them.
ARROW, ANY, ALL, REPEAT, UNARY, GUARDED = range(1, 7)
# And in the pattern of MATCH_RECOGNIZE.
ALTERNATIVES, SEQUENCE, FACTOR, ATOM = range(1, 5)
# Words with a meaning where a name is possible.
_OF_TERMS = frozenset({"EVERY"})
_OF_REGEX = frozenset({"PERMUTE", "MATCH_RECOGNIZE_PERMUTE"})
_OF_CLAUSES = frozenset(["PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "SUBSET", "DEFINE"])
_SKIPS = {"past_last": "PAST LAST ROW", "to_next": "TO NEXT ROW", "to_current": "TO CURRENT ROW"}
_ROWS = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH",
    "all_omit": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all_unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}


def print_pattern(source: p.PatternSource) -> str:
    """`PATTERN [ … ]`."""
    notes = ("@DiscardPartialsOnMatch " if source.discard else "") + (
        "@SuppressOverlappingMatches " if source.suppress else ""
    )
    return f"PATTERN {notes}[ {print_term(source.term)} ]"


def print_term(term: p.PatternTerm) -> str:
    """One term of a pattern."""
    return _term(term, ARROW)


def _term(term: p.PatternTerm, level: int) -> str:
    own, text = _written(term)
    return text if own >= level else f"({text})"


def _written(term: p.PatternTerm) -> tuple[int, str]:
    """How tightly a term binds, and its text."""
    match term:
        case p.FollowedBy(operands=operands, limits=limits):
            text = _term(operands[0], ANY)
            for limit, operand in zip(limits, operands[1:], strict=True):
                arrow = "->" if limit is None else f"-[{print_expression(limit)}]>"
                text += f" {arrow} {_term(operand, ANY)}"
            return ARROW, text
        case p.OrTerm(operands=operands):
            return ANY, " OR ".join(_term(o, ALL) for o in operands)
        case p.AndTerm(operands=operands):
            return ALL, " AND ".join(_term(o, REPEAT) for o in operands)
        case p.RepeatTerm():
            until = f" UNTIL {_term(term.until, UNARY)}" if term.until is not None else ""
            return REPEAT, f"{_range(term)}{_term(term.operand, UNARY)}{until}"
        case p.EveryTerm(operand=operand):
            return UNARY, f"EVERY {_operand(operand)}"
        case p.NotTerm(operand=operand):
            return UNARY, f"NOT {_operand(operand)}"
        case p.EveryDistinctTerm(keys=keys, operand=operand):
            return UNARY, f"EVERY-DISTINCT({', '.join(map(print_expression, keys))}) {_operand(operand)}"
        case p.TimerGuard(operand=operand, name=name, args=args):
            return GUARDED, f"{_term(operand, GUARDED)} WHERE {name}({_periods(args)})"
        case p.WhileGuard(operand=operand, condition=condition):
            return GUARDED, f"{_term(operand, GUARDED)} WHILE ({print_expression(condition)})"
        case p.TimerTerm(name=name, args=args):
            return GUARDED, f"{name}({_periods(args)})"
        case p.EventTerm():
            return GUARDED, _event(term)
    raise error("INTERNAL", what=f"a {type(term).__name__} has no text")


def _operand(term: p.PatternTerm) -> str:
    """The operand of EVERY and NOT: a term of their own level, or a repeat without UNTIL."""
    if isinstance(term, p.RepeatTerm) and term.until is None:
        return f"{_range(term)}{_term(term.operand, UNARY)}"
    return _term(term, UNARY)


def _range(term: p.RepeatTerm) -> str:
    if term.low is None and term.high is None:
        return ""
    if term.low is not None and term.low == term.high:
        return f"[{_bound(term.low)}] "
    return f"[{_bound(term.low)} : {_bound(term.high)}] "


def _bound(bound: Expr | None) -> str:
    return "" if bound is None else print_expression(bound)


def _event(term: p.EventTerm) -> str:
    tag = f"{spell_name(term.tag)}=" if term.tag is not None else ""
    condition = f"({print_expression(term.condition)})" if term.condition is not None else ""
    return f"{tag}{spell_name(term.name, _OF_TERMS)}{condition}" + (f"@consume({term.consume})" if term.consume else "")


def _periods(args: tuple[tuple[p.PeriodPart, ...], ...]) -> str:
    return ", ".join(" ".join(_part(part) for part in parts) for parts in args)


def _part(part: p.PeriodPart) -> str:
    text = print_expression(part.value)
    if part.unit is None:
        return text
    # A number before a unit would be read as a duration, and `running` before a word as a mode.
    return f"{text} {part.unit}" if isinstance(part.value, Member | Index | Method) else f"({text}) {part.unit}"


def print_match(clause: m.MatchClause) -> str:
    """`MATCH_RECOGNIZE ( … )`."""
    parts = []
    if clause.partition_by:
        parts.append(f"PARTITION BY {', '.join(map(print_expression, clause.partition_by))}")
    if clause.order_by:
        keys = [print_expression(k.expr) + (" DESC" if k.descending else "") for k in clause.order_by]
        parts.append(f"ORDER BY {', '.join(keys)}")
    if clause.measures:
        items = [print_expression(m.expr) + (f" AS {spell_name(m.name)}" if m.name else "") for m in clause.measures]
        parts.append(f"MEASURES {', '.join(items)}")
    parts.append(_ROWS[clause.rows])
    parts.append(f"AFTER MATCH SKIP {_skip(clause.skip)}")
    parts.append(f"PATTERN ({print_regex(clause.pattern)}){_bounds(clause)}")
    if clause.subsets:
        items = [f"{spell_name(u.name)} = ({', '.join(map(spell_name, u.members))})" for u in clause.subsets]
        parts.append(f"SUBSET {', '.join(items)}")
    if clause.definitions:
        items = [f"{spell_name(d.name)} AS {print_expression(d.condition)}" for d in clause.definitions]
        parts.append(f"DEFINE {', '.join(items)}")
    return f"MATCH_RECOGNIZE ( {' '.join(parts)} )"


def _skip(skip: m.SkipClause) -> str:
    if skip.variable is None:
        return _SKIPS[skip.kind]
    return f"TO {'FIRST' if skip.kind == 'to_first' else 'LAST'} {spell_name(skip.variable, _OF_CLAUSES)}"


def _bounds(clause: m.MatchClause) -> str:
    text = ""
    if clause.within is not None:
        text += f" {clause.within_word} {print_expression(clause.within)}"
        text += " OR TERMINATED" if clause.or_terminated else ""
    if clause.gap is not None:
        text += f" GAP {print_expression(clause.gap)}"
    return text + (" EMIT TIMEOUT" if clause.emit_timeout else "")


def print_regex(term: m.RegexTerm) -> str:
    """The pattern of MATCH_RECOGNIZE, without the parentheses around it."""
    if isinstance(term, m.ConcatTerm) and not term.operands:
        return "()"
    return _regex(term, ALTERNATIVES)


def _regex(term: m.RegexTerm, level: int) -> str:
    own, text = _regex_written(term)
    return text if own >= level else f"({text})"


def _regex_written(term: m.RegexTerm) -> tuple[int, str]:
    match term:
        case m.AlternativesTerm(operands=operands):
            return ALTERNATIVES, " | ".join(_regex(o, SEQUENCE) for o in operands)
        case m.ConcatTerm(operands=operands):
            return (SEQUENCE, " ".join(_regex(o, FACTOR) for o in operands)) if operands else (ATOM, "()")
        case m.QuantifiedTerm(operand=operand):
            return FACTOR, f"{_regex(operand, ATOM)}{_quantity(term)}"
        case m.ExcludedTerm(operand=operand):
            return ATOM, f"{{- {_regex(operand, ALTERNATIVES)} -}}"
        case m.PermuteTerm(operands=operands):
            return ATOM, f"PERMUTE({', '.join(_regex(o, ALTERNATIVES) for o in operands)})"
        case m.AnchorTerm(mark=mark):
            return ATOM, mark
        case m.VariableTerm(name=name):
            return ATOM, spell_name(name, _OF_REGEX)
    raise error("INTERNAL", what=f"a {type(term).__name__} has no text")


def _quantity(term: m.QuantifiedTerm) -> str:
    marks = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    written = marks.get((term.low, term.high))
    if written is None:
        high = "" if term.high is None else str(term.high)
        written = f"{{{term.low}}}" if term.low == term.high else f"{{{term.low},{high}}}"
    return written + ("?" if term.reluctant else "")
