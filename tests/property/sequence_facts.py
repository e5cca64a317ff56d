"""A case of the reference in, the query and the facts that the kernels read out: without the language, row by row."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from presage.operators.sequence.kernel.facts import (
    CERTAIN,
    INDEPENDENT,
    MARKOV,
    NOTHING,
    Allowed,
    Facts,
    GoalRows,
    Source,
)
from presage.operators.sequence.kernel.query import (
    Anything,
    Condition,
    Goal,
    Known,
    Sequence,
    Term,
    Variable,
    inner_name,
)
from property.sequence_texts import Case
from reference import sequence_semantics as r
from reference.possible_worlds import Row, Stream

KINDS = {"certain": CERTAIN, "independent": INDEPENDENT, "markov": MARKOV}


class Numbered:
    """Values in, small numbers out, the same for the same value."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, value: Any) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


def query_and_facts(case: Case) -> tuple[Sequence, Facts, dict[str, list[Any]], list[Any]]:
    """Also the values of each variable by number, and the steps' times."""
    streams = case.streams
    names = list(streams)
    steps = sorted({row[s.time] for name, s in streams.items() for row in case.rows.get(name, [])})
    numbers: dict[str, Numbered] = {}
    rows = {
        name: sorted(case.rows.get(name, []), key=lambda row: steps.index(row[s.time])) for name, s in streams.items()
    }
    sources = []
    for name, stream in streams.items():
        source, order = _source(stream, rows[name], steps)
        rows[name] = [rows[name][i] for i in order]
        sources.append(source)
    local, far = _conditions(case.query)
    goals, found = [], []
    visible: frozenset[str] = frozenset()
    for number, part in enumerate(case.query.parts):
        stream = streams[part.stream]
        inner = part.variables - part.visible - visible
        visible |= part.visible
        selective = bool(local[number]) or (part.plus is not None and part.plus.condition is not None)
        terms = tuple(_term(t, number, inner) for t in part.terms)
        goals.append(
            Goal(
                number,
                part.stream,
                names.index(part.stream),
                stream.about,
                terms,
                None if part.plus is None else frozenset(part.plus.shared),
                selective,
                f"{part.stream}#{number}",
            )
        )
        places = {t.name: _place(case.query, part, t.name, stream) for t in part.terms if isinstance(t, r.Variable)}
        found.append(_goal_rows(part, stream, rows[part.stream], local[number], numbers, number, inner, places))
    markov = frozenset(i for i, s in enumerate(sources) if s.kind == MARKOV)
    query = Sequence(tuple(goals), tuple(c for c, _ in far), case.query.selected, markov)
    facts = Facts(
        len(steps),
        sources,
        found,
        [_allowed(c, f, numbers) for c, f in far],
        {n: len(v.values) for n, v in numbers.items()},
    )
    return query, facts, {n: v.values for n, v in numbers.items()}, steps


def _term(term: r.Term, goal: int, inner: frozenset[str]) -> Term:
    if isinstance(term, r.Variable):
        return Variable(inner_name(term.name, goal) if term.name in inner else term.name)
    return Known(term.value, repr(term.value)) if isinstance(term, r.Constant) else Anything()


def _place(query: r.Query, part: r.Part, name: str, stream: Stream) -> int:
    """Where a goal reads a variable: in the key, at a place that all goals of the stream with it share, if any."""
    several = [each for each in query.parts if each.stream == part.stream and name in each.variables]
    own = [i for i, term in enumerate(part.terms) if term == r.Variable(name)]
    common = [i for i in own if i in stream.about and all(each.terms[i] == r.Variable(name) for each in several)]
    return (common or own)[0]


def _source(stream: Stream, rows: list[Row], steps: list[Any]) -> tuple[Source, list[int]]:
    keys, values = Numbered(), Numbered()
    # Numbers in the order of the values: the rivals' ties go by it.
    uncertain = [stream.attributes[i] for i in sorted(stream.uncertain)]
    for known in sorted({tuple(row[a] for a in uncertain) for row in rows}):
        values(known)
    chain = [keys(tuple(row[stream.attributes[i]] for i in stream.about)) for row in rows]
    step = [steps.index(row[stream.time]) for row in rows]
    value = [values(tuple(row[a] for a in uncertain)) for row in rows]
    prev = [NOTHING] * len(rows)
    if stream.kind == "markov":
        before = [tuple(row[f"prev_{a}"] for a in uncertain) for row in rows]
        prev = [NOTHING if b[0] is None else values(b) for b in before]
    chance = [1.0 if stream.kind == "certain" else row["probability"] for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (step[i], chain[i]))
    columns = [np.array([c[i] for i in order], np.int64) for c in (chain, step, value, prev)]
    return Source(KINDS[stream.kind], *columns, np.array([chance[i] for i in order]), max(len(keys.values), 1)), order


def _conditions(query: r.Query) -> tuple[list[list[r.Condition]], list[tuple[Condition, r.Condition]]]:
    """By goal what is asked of its own event, and what is asked of several goals' variables."""
    local: list[list[r.Condition]] = [[] for _ in query.parts]
    far = []
    for condition in query.where:
        number = next(i for i in range(len(query.parts)) if condition.variables <= _visible(query.parts[: i + 1]))
        if condition.variables <= query.parts[number].visible:
            local[number].append(condition)
        else:
            far.append((Condition(condition.variables, number, condition.text), condition))
    seen = frozenset()
    for place, part in enumerate(query.parts):
        asked = None if part.plus is None else part.plus.condition
        if asked is not None and not asked.variables <= part.variables:
            inner = part.variables - part.visible - seen
            names = frozenset(inner_name(name, place) if name in inner else name for name in asked.variables)
            far.append((Condition(names, place, asked.text, unfolding=True), asked))
        seen |= part.visible
    return local, far


def _visible(parts: tuple[r.Part, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(part.visible for part in parts))


def _goal_rows(
    part: r.Part,
    stream: Stream,
    rows: list[Row],
    local: list[r.Condition],
    numbers: dict[str, Numbered],
    goal: int,
    inner: frozenset[str],
    places: dict[str, int],
) -> GoalRows:
    candidate, accepted = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    names = {name: inner_name(name, goal) if name in inner else name for name in part.variables}
    variables = {name: np.zeros(len(rows), np.int64) for name in names.values()}
    own = None if part.plus is None else part.plus.condition
    asked = [*local, *([own] if own is not None and own.variables <= part.variables else [])]
    for i, row in enumerate(rows):
        event = r.Event(part.stream, tuple(row[a] for a in stream.attributes))
        binding = r.matched(part, event)
        candidate[i] = binding is not None and (part.condition is None or part.condition.true_of(binding))
        accepted[i] = binding is not None and all(c.true_of(binding) for c in asked)
        for written, place in places.items():
            name = names[written]
            variables[name][i] = numbers.setdefault(name, Numbered())(event.values[place])
    for name in names.values():
        numbers.setdefault(name, Numbered())
    return GoalRows(candidate, accepted, variables)


def _allowed(condition: Condition, said: r.Condition, numbers: dict[str, Numbered]) -> Allowed:
    names = tuple(sorted(condition.variables))
    values = [numbers[name].values for name in names]
    rows = [
        [numbers[n](v) for n, v in zip(names, combination, strict=True)]
        for combination in itertools.product(*values)
        if said.true_of({n.partition("@")[0]: v for n, v in zip(names, combination, strict=True)})
    ]
    return Allowed(names, np.array(rows, np.int64).reshape(-1, len(names)))
