"""EXPLAIN of MATCH_RECOGNIZE: automaton, conditions, key, state, warnings."""

from __future__ import annotations

from collections.abc import Callable

from presage.lang.identifiers import spell_name
from presage.operators.match.kernel.spec import ACCEPT, Automaton, Condition, MatchTables, Place
from presage.operators.match.nodes import Match, gap_text, within_text
from presage.plan.display import show
from presage.plan.explain import Report
from presage.plan.nodes import Node

INDENT = "  "
SKIPS = {
    "past_last": "past its last row",
    "to_next": "to the row after its first",
    "to_current": "nothing: every match of every start row is shown",
}


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
    """The variables by how their conditions are evaluated; one whose parts differ is in several lines."""
    kinds: dict[str, Callable[[Condition], bool]] = {
        "any row": _is_free,
        "native, on the row alone": lambda c: c.flag is not None,
        "native, on the row and its neighbours": lambda c: c.nearby >= 0,
        "compiled, over the match so far": lambda c: c.bound >= 0,
        "computed by the evaluator, over the match so far": lambda c: c.asked >= 0,
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
    """Whether a match depends on rows after its last one."""
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
    """The maximal number of rows of a match; None if the automaton has a loop."""
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
    places = [place for c in tables.conditions for place in (*c.places, *c.classified)]
    folds = [fold for c in tables.conditions for fold in c.folds]
    folds += [measure.fold for measure in tables.measures if measure.fold is not None]
    places += [measure.place for measure in tables.measures if measure.place is not None]
    return places + [place for fold in folds for place in fold.places]


def _numbers(tables: MatchTables) -> bool:
    return any(m.match_number for m in tables.measures) or any(c.match_number for c in tables.conditions)


def _anchored(tables: MatchTables) -> bool:
    return any(edge.at_start for edge in tables.automaton.first)


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


DESCRIBE: dict[type[Node], Callable[..., Report]] = {Match: describe_match}
