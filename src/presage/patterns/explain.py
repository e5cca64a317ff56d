"""What EXPLAIN says of the nodes of the patterns room: kernel, conditions, key, state, warnings."""

from __future__ import annotations

from collections.abc import Callable

from presage.lang.words import spell_name
from presage.patterns.growth import growth, head_of, period_text
from presage.patterns.kernel.match_spec import ACCEPT, Automaton, Condition, MatchTables, Place
from presage.patterns.kernel.pattern_spec import Node as Term
from presage.patterns.kernel.pattern_spec import PatternTables
from presage.patterns.nodes import Match, PatternMatch, gap_text, within_text
from presage.plan.display import show
from presage.plan.explain import Report
from presage.plan.nodes import Node

INDENT = "  "
SKIPS = {
    "past_last": "past its last row",
    "to_next": "to the row after its first",
    "to_current": "nothing: every match of every start row is shown",
}


# -- MATCH_RECOGNIZE ------------------------------------------------------------------------------------


def describe_match(node: Match) -> Report:
    tables = node.tables
    by_name = {n.name: n.expr for n in node.prepared}
    keys = ", ".join(show(by_name[key]) for key in tables.keys)
    lines = [f"kernel  match ({node.text})" + (f" by [{keys}]" if keys else "")]
    details = [_size(tables.automaton), *_conditions(tables), _search(tables), f"after a match: {_skip(tables)}"]
    spread = f"parallel, partitioned by [{keys}]" if keys else "one partition, because there is no PARTITION BY"
    state = [f"match: {part}" for part in _match_state(node, keys)]
    lines += [INDENT * 4 + detail for detail in details]
    return Report("\n".join(lines), f"match: {spread}", "\n".join(state), _match_warnings(tables))


def _size(automaton: Automaton) -> str:
    edges = len(automaton.first) + sum(map(len, automaton.follow))
    return f"automaton: {_counted(len(automaton.labels), 'position')}, {_counted(edges, 'edge')}"


def _conditions(tables: MatchTables) -> list[str]:
    """The variables, by how their conditions are evaluated; one whose parts differ stands in several lines."""
    kinds: dict[str, Callable[[Condition], bool]] = {
        "any row": _is_free,
        "native, on the row alone": lambda c: c.flag is not None,
        "native, on the row and its neighbours": lambda c: c.nearby >= 0,
        "compiled, over the match so far": lambda c: c.bound >= 0,
        "asked of the evaluator, over the match so far": lambda c: c.asked >= 0,
    }
    lines = []
    for title, fits in kinds.items():
        named = [
            spell_name(name) + (" (in part)" if _parts(condition) > 1 else "")
            for name, condition in zip(tables.automaton.variables, tables.conditions, strict=True)
            if fits(condition)
        ]
        if named:
            lines.append(f"{title}: {', '.join(named)}")
    return lines


def _parts(condition: Condition) -> int:
    programs = (condition.nearby, condition.bound, condition.asked)
    return (condition.flag is not None) + sum(program >= 0 for program in programs)


def _is_free(condition: Condition) -> bool:
    return _parts(condition) == 0


def _search(tables: MatchTables) -> str:
    looking = [
        spell_name(name)
        for name, condition in zip(tables.automaton.variables, tables.conditions, strict=True)
        if condition.bound >= 0 or condition.asked >= 0
    ]
    budget = f"step budget of {tables.budget:,} for one match"
    if looking:
        depend = "depends" if len(looking) == 1 else "depend"
        return f"search: {budget}, because {', '.join(looking)} {depend} on the match so far"
    if tables.skip.kind == "to_current":
        return "search: failures are memoised, for each start row anew"
    if _looks_beyond(tables) and (tables.within is not None or tables.gap is not None):
        return f"search: {budget}, because NEXT or $ looks past what WITHIN or GAP cuts off"
    return "search: failures are memoised, so it is linear in the rows"


def _looks_beyond(tables: MatchTables) -> bool:
    """Whether a match depends on rows behind its last one."""
    ahead = any(place.moved > 0 for condition in tables.conditions for place in condition.places)
    return ahead or any(edge.at_end for ways in tables.automaton.follow for edge in ways)


def _skip(tables: MatchTables) -> str:
    if tables.skip.kind in SKIPS:
        word = "skip " if tables.skip.kind != "to_current" else "skips "
        return f"{word}{SKIPS[tables.skip.kind]}"
    end = "first" if tables.skip.kind == "to_first" else "last"
    return f"skip to the {end} row of {spell_name(tables.skip.name)}"


def _match_state(node: Match, keys: str) -> list[str]:
    tables = node.tables
    per = f" for each value of [{keys}]" if keys else ""
    if tables.whole:
        return [f"the rows of the open batch{per}"]
    longest = _longest(tables.automaton)
    if tables.within is not None:
        size = f"of the last {within_text(tables)}"
    else:
        size = "however long" if longest is None else f"at most {longest}"
    parts = [f"the rows of the open match{per}, {size}"]
    if tables.gap is not None:
        parts[0] += f"; none after {gap_text(tables)} without a row"
    back = max([0, *(-place.moved for place in _places(tables))])
    if back:
        last = "the last row" if back == 1 else f"the last {back} rows"
        parts.append(f"{last}{per}, for PREV")
    counted = [word for word, used in (("MATCH_NUMBER", _numbers(tables)), ("^", _anchored(tables))) if used]
    if counted:
        parts.append(f"a counter{per}, for {' and '.join(counted)}")
    if tables.sort:
        wait = "until ORDER BY knows their place" if tables.by_time else "until the end: ORDER BY is not by time"
        parts.append(f"rows that wait {wait}")
    if tables.held and tables.within is not None:
        parts.append(f"matches that INTERVAL holds back, {within_text(tables)} from their first row")
    return parts


def _match_warnings(tables: MatchTables) -> tuple[str, ...]:
    if tables.within is not None or tables.whole or _longest(tables.automaton) is not None:
        return ()
    return ("a match of this pattern may go on for ever, and its rows are kept; add WITHIN, for example WITHIN 1 hour",)


def _longest(automaton: Automaton) -> int | None:
    """The most rows of a match; None if there is no most: the automaton has a loop."""
    longest: dict[int, int] = {ACCEPT: 0}
    # Depth first without recursion: patterns may have thousands of positions.
    on_path: set[int] = set()
    todo = [(edge.target, False) for edge in automaton.first]
    while todo:
        position, done = todo.pop()
        if done:
            on_path.discard(position)
            longest[position] = 1 + max((longest[edge.target] for edge in automaton.follow[position]), default=0)
        elif position in on_path:
            return None
        elif position not in longest:
            on_path.add(position)
            todo.append((position, True))
            todo.extend((edge.target, False) for edge in automaton.follow[position])
    return max((longest[edge.target] for edge in automaton.first), default=0)


def _places(tables: MatchTables) -> list[Place]:
    found = [place for c in tables.conditions for place in (*c.places, *c.classified)]
    folds = [fold for c in tables.conditions for fold in c.folds]
    folds += [measure.fold for measure in tables.measures if measure.fold is not None]
    found += [measure.place for measure in tables.measures if measure.place is not None]
    return found + [place for fold in folds for place in fold.places]


def _numbers(tables: MatchTables) -> bool:
    return any(m.match_number for m in tables.measures) or any(c.match_number for c in tables.conditions)


def _anchored(tables: MatchTables) -> bool:
    return any(edge.at_start for edge in tables.automaton.first)


# -- PATTERN --------------------------------------------------------------------------------------------


def describe_pattern(node: PatternMatch) -> Report:
    tables = node.tables
    keys = ", ".join(map(show, node.key_of(0))) if any(node.partition) else ""
    lines = [f"kernel  pattern of {_counted(len(tables.nodes), 'term')}" + (f" by [{keys}]" if keys else "")]
    lines += [INDENT * 4 + line for line in _terms(tables, 0)]
    spread = f"parallel, partitioned by [{keys}]" if keys else f"one partition, because {_why_one(tables)}"
    found = growth(tables)
    kept = [part.kept for part in found] or ["one open match at a time"]
    if keys:
        kept.append(f"nothing for a value of [{keys}] without an open match")
    kept.append(f"more than {tables.most:,} partial matches in one partition are an error")
    warnings = tuple(part.warning for part in found if part.warning)
    return Report("\n".join(lines), f"pattern: {spread}", "\n".join(f"pattern: {part}" for part in kept), warnings)


def _terms(tables: PatternTables, number: int) -> list[str]:
    """A term and, indented, those that it is made of."""
    term = tables.nodes[number]
    below = [INDENT + line for child in term.children for line in _terms(tables, child)]
    return [term_title(term, tables) + (f": {_how(term)}" if term.kind == "filter" else ""), *below]


def term_title(term: Term, tables: PatternTables) -> str:
    """A term without those that it is made of."""
    match term.kind:
        case "followed":
            limits = [str(limit) for limit in term.limits if limit >= 0]
            return "followed by" + (f", at most {', '.join(limits)} open" if limits else "")
        case "and" | "or" | "not" | "every":
            return term.kind
        case "distinct":
            return head_of(term, tables)
        case "until":
            low, high = _bound(term.low, term.low_program), _bound(term.high, term.high_program)
            times = low if low == high else f"{low}:{high}"
            return "repeat" + (f" [{times}]" if times else "") + (" until" if len(term.children) > 1 else "")
        case "within" if term.period is not None:
            most = f", at most {_counted(term.most, 'match', 'matches')}" if term.most >= 0 else ""
            return f"within {period_text(term.period)}{most}"
        case "while":
            return term.text.removeprefix(tables.nodes[term.children[0]].text).strip() or "while"
    return term.text


def _bound(constant: int, program: int) -> str:
    return "…" if program >= 0 else str(constant) if constant >= 0 else ""


def _how(term: Term) -> str:
    parts = []
    if term.flag is not None:
        parts.append("native, on the event alone")
    if term.program >= 0:
        parts.append("compiled, over the events so far")
    if term.asked >= 0:
        parts.append("asked of the evaluator, over the events so far")
    return "; then ".join(parts) or "any event"


def _why_one(tables: PatternTables) -> str:
    root = tables.nodes[0]
    if tables.discard or tables.suppress:
        return "a match ends others"
    if root.kind != "followed" or tables.nodes[root.children[0]].kind != "every":
        return "only EVERY a=… -> … falls apart into keys"
    if any(limit >= 0 for limit in root.limits):
        return "-[n]> counts the open matches of all keys"
    return "nothing ties all events of the pattern to the first one"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


DESCRIBE: dict[type[Node], Callable[..., Report]] = {Match: describe_match, PatternMatch: describe_pattern}
