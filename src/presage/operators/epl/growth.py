"""The growth of a pattern's state, and a warning where nothing bounds it.

A term *repeats* if it may become true more than once (EVERY). The terms after it are open once for each time, so they
must end by themselves: by a timer, by a guard around them, or by a limit on the arrow.
"""

from __future__ import annotations

from dataclasses import dataclass

from presage.model.time import format_duration
from presage.operators.epl.kernel.spec import Node as Term
from presage.operators.epl.kernel.spec import PatternTables, Period

REPEATING = ("every", "distinct")
MOST_CHARACTERS = 60
EXAMPLE = "timer:within(1 hour)"


@dataclass(frozen=True)
class Growth:
    """What the state keeps, in words; and, if it is not bounded, how to bound it."""

    kept: str
    warning: str = ""


def growth(tables: PatternTables) -> list[Growth]:
    """All that the state keeps besides one open match."""
    return list(dict.fromkeys(_below(tables, 0, None)))


def period_text(period: Period) -> str:
    if period.program >= 0:
        return "a time taken from events"
    return format_duration(period.micros, period.months)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def head_of(term: Term, tables: PatternTables) -> str:
    """EVERY-DISTINCT(keys) without its operand."""
    child = tables.nodes[term.children[0]].text
    for operand in (child, f"({child})"):
        if term.text.endswith(operand):
            return term.text.removesuffix(operand).rstrip()
    return "EVERY-DISTINCT(…)"


def _below(tables: PatternTables, number: int, guard: str | None) -> list[Growth]:
    """`guard`: the longest lifetime, by a guard around the term."""
    term = tables.nodes[number]
    found: list[Growth] = []
    if term.kind == "within" and term.period is not None:
        guard = guard or f"at most {period_text(term.period)}"
    elif term.kind == "followed":
        found += _of_arrows(tables, term, guard)
    elif term.kind == "and":
        found += [_collected(tables, term, child, guard) for child in term.children if _repeats(tables, child)]
    elif term.kind == "until" and term.lists and term.high < 0 and term.high_program < 0:
        found.append(_listed(tables, term, guard))
    elif term.kind == "distinct":
        found.append(_keys(tables, term, guard))
    if term.kind in REPEATING and _repeats(tables, term.children[0]) and not _lasts(tables, term.children[0]):
        found.append(_multiplied(tables, term, guard))
    return found + [more for child in term.children for more in _below(tables, child, guard)]


def _of_arrows(tables: PatternTables, term: Term, guard: str | None) -> list[Growth]:
    found = []
    for i, child in enumerate(term.children[1:], 1):
        if not any(_repeats(tables, earlier) for earlier in term.children[:i]):
            continue
        first = shortened(" -> ".join(tables.nodes[c].text for c in term.children[:i]))
        waiting = shortened(tables.nodes[child].text)
        kept = f"each match of {first} that waits for {waiting}"
        lasts = guard or _lasts(tables, child)
        if term.limits[i - 1] >= 0:
            found.append(Growth(f"{kept}, at most {term.limits[i - 1]} of them"))
        elif lasts is not None:
            found.append(Growth(f"{kept}, {lasts}"))
        else:
            fix = f"write {_in_parentheses(tables.nodes[child], waiting)} WHERE {EXAMPLE}"
            warning = f"each match of {first} is kept until {waiting} comes, for ever if it does not; {fix}"
            found.append(Growth(f"{kept}, grows for ever", warning))
    return found


def _collected(tables: PatternTables, term: Term, child: int, guard: str | None) -> Growth:
    kept = f"every match of {shortened(tables.nodes[child].text)}, which AND pairs with the others"
    if guard is not None:
        return Growth(f"{kept}, {guard}")
    fix = f"write {_in_parentheses(term, shortened(term.text))} WHERE {EXAMPLE}"
    return Growth(f"{kept}, grows for ever", f"AND keeps {kept.partition(', ')[0]}; {fix}")


def _listed(tables: PatternTables, term: Term, guard: str | None) -> Growth:
    names = ", ".join(tables.tags[tag].name for tag in term.lists)
    until = tables.nodes[term.children[1]].text if len(term.children) > 1 else "the end"
    kept = f"the events of {names} until {shortened(until)} comes"
    lasts = guard or (_lasts(tables, term.children[1]) if len(term.children) > 1 else None)
    if lasts is not None:
        return Growth(f"{kept}, {lasts}")
    fix = f"give the repeat an upper bound, [:100], or a guard, WHERE {EXAMPLE}"
    return Growth(f"{kept}, grows until then", f"the events of {names} are kept until {shortened(until)} comes; {fix}")


def _keys(tables: PatternTables, term: Term, guard: str | None) -> Growth:
    head = head_of(term, tables)
    if term.period is not None:
        return Growth(f"the keys of {head}, each for {period_text(term.period)}")
    if guard is not None:
        return Growth(f"the keys of {head}, {guard}")
    fix = f"say for how long: {head.removesuffix(')')}, 1 hour)"
    return Growth(f"every key of {head}, grows for ever", f"{head} remembers every key; {fix}")


def _multiplied(tables: PatternTables, term: Term, guard: str | None) -> Growth:
    inner = shortened(tables.nodes[term.children[0]].text)
    word = "EVERY" if term.kind == "every" else "EVERY-DISTINCT"
    kept = f"{inner} once more after each of its matches"
    if guard is not None:
        return Growth(f"{kept}, {guard}")
    warning = f"{word} starts {inner} again with each match, while the earlier ones go on; leave one EVERY out"
    return Growth(f"{kept}, grows for ever", warning)


def _repeats(tables: PatternTables, number: int) -> bool:
    """Whether one instance of a term may become true more than once."""
    term = tables.nodes[number]
    if term.kind in REPEATING:
        return True
    # NOT never becomes true, and a repeat does so once.
    return term.kind not in ("not", "until") and any(_repeats(tables, child) for child in term.children)


def _lasts(tables: PatternTables, number: int) -> str | None:
    """The longest lifetime of an instance of a term; None if no timer ends it."""
    term = tables.nodes[number]
    if term.kind in ("within", "interval") and term.period is not None:
        return f"at most {period_text(term.period)}"
    if term.kind in (*REPEATING, "not", "filter"):
        return None
    if term.kind == "until":
        # The second operand ends a repeat.
        return _lasts(tables, term.children[1]) if len(term.children) > 1 else None
    parts = [_lasts(tables, child) for child in term.children if tables.nodes[child].kind != "not"]
    limits = [part for part in parts if part is not None]
    if not limits or (term.kind != "or" and len(limits) < len(parts)):
        return None
    return limits[0] if len(set(limits)) == 1 and len(parts) == 1 else "as long as its timers run"


def _in_parentheses(term: Term, text: str) -> str:
    return text if term.kind in ("filter", "interval") else f"({text})"
