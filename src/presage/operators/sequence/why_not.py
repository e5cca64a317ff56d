"""Why-not of SEQUENCE […]: each subgoal evaluated on one row, and the probability of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.columnar.reasons import (
    TAKEN,
    Answer,
    Chance,
    Examiner,
    Reasons,
    ScanConditions,
    merged,
    outcome_of,
    row_values,
)
from presage.execution.steps import StepContext, run
from presage.model.json_values import plain_column
from presage.model.time import format_timestamp
from presage.operators.sequence.kernel.query import Goal, Variable
from presage.operators.sequence.nodes import Infer, SequenceMatch
from presage.plan.display import show
from presage.plan.expr import conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Scan

# Rows over which answers are recomputed; methods other than stepwise cost far more for each row.
MOST_ROWS, MOST_OTHERWISE = 200_000, 5_000
MOST_ANSWERS = 20


def why_sequence(node: SequenceMatch, plan: Node, context: StepContext, number: int, examiner: Examiner) -> Reasons:
    """Explains the row with this number. `plan` is the statement's, for its threshold."""
    if any(isinstance(x, Infer) for source in node.sources for x in source.walk()):
        note = "Its subgoals read a stream that a model infers; why-not does not examine the inference."
        return Reasons(node.text, notes=(note,))
    raw = [run(_unfiltered(node, source), context).table for source in node.sources]
    found = [(i, np.flatnonzero(ints(table, SEQ) == number)) for i, table in enumerate(raw)]
    here = [(i, int(places[0])) for i, places in found if len(places)]
    if not here:
        return Reasons(node.text, notes=("It is not an event of this sequence.",))
    time = int(raw[here[0][0]][TIME][here[0][1]].as_py())
    chances = [
        _chance(node, goal, raw[source], place, examiner)
        for source, place in here
        for goal in node.tables.query.goals
        if goal.source == source
    ]
    notes = [f"This condition is over several subgoals: {c.text}." for c in node.tables.query.conditions]
    answers = _answers(node, plan, context, raw, time, here)
    return Reasons(node.text, tuple(chances), (*notes, *answers))


def _unfiltered(node: SequenceMatch, source: Node) -> Node:
    """The source without the filter of drop_idle_rows: why-not explains rows that are no candidates, too."""
    return source.input if node.filtered and isinstance(source, Filter) else source


def _chance(node: SequenceMatch, goal: Goal, raw: pa.Table, place: int, examiner: Examiner) -> Chance:
    """`candidate`: the row can be chosen as next; `accepted`: the choice holds."""
    columns = node.tables.goals[goal.number]
    named = {n.name: n.expr for n in node.prepared[goal.source]}
    answers: list[Answer] = []
    for flag in (columns.candidate, columns.accepted):
        if flag is not None:
            answers += [_as_equation(answer) for answer in examiner.answers(named[flag], row_values(raw, place))]
    answers = merged(answers)
    outcome = outcome_of(answers)
    probability = node.tables.streams[goal.source].probability
    further = ""
    if probability is not None:
        (value,) = plain_column(pa.chunked_array([row_values(raw, place)(named[probability])]))
        further = f"it has probability {value} at its step"
        if outcome == TAKEN and node.tables.query.markov:
            further = f"it has probability {value} given the step before"
    return Chance(goal.text, (), tuple(answers), outcome, further)


def _as_equation(answer: Answer) -> Answer:
    """A constant term of a subgoal, shown as attribute = constant."""
    alone = len(answer.values) == 1 and answer.text != answer.values[0][0] and answer.text[:1] in "'\"-.0123456789"
    return replace(answer, text=f"{answer.values[0][0]} = {answer.text}") if alone else answer


def _answers(
    node: SequenceMatch, plan: Node, context: StepContext, raw: list[pa.Table], time: int, here: list[tuple[int, int]]
) -> list[str]:
    """The probability of the sequence at the event's step, before the threshold."""
    rows = sum(table.num_rows for table in raw)
    if rows > (MOST_ROWS if node.tables.by_steps else MOST_OTHERWISE):
        return [f"The probability of the answer is not recomputed over {rows:,} rows."]
    made = run(node, context).table
    made = made.filter(pa.array(ints(made, TIME) == time))
    own = _key_of(node, raw, here)
    names = node.tables.query.selected
    columns = [plain_column(made[f.name]) for f in node.made[: len(names)]]
    chances = plain_column(made["sequence.probability"])
    told = []
    for i, chance in enumerate(chances):
        values = {name: column[i] for name, column in zip(names, columns, strict=True)}
        if all(values[name] == value for name, value in own.items() if name in values):
            of = ", ".join(f"{name} = {value}" for name, value in values.items())
            told.append(f"with {of}: {chance}" if of else str(chance))
    at, asked = format_timestamp(time), _threshold(plan)
    if not told:
        of = ", ".join(f"{name} = {value}" for name, value in own.items() if name in names)
        return [f"At its step, {at}, the sequence has probability 0{f' with {of}' if of else ''}: there is no row."]
    more = f" and {len(told) - MOST_ANSWERS} more" if len(told) > MOST_ANSWERS else ""
    asked = f" A row needs {asked}." if asked else ""
    return [f"At its step, {at}, the sequence has probability {'; '.join(told[:MOST_ANSWERS])}{more}.{asked}"]


def _key_of(node: SequenceMatch, raw: list[pa.Table], here: list[tuple[int, int]]) -> dict[str, Any]:
    """The values of selected variables in the event's key, over all subgoals."""
    found: dict[str, Any] = {}
    for source, place in here:
        for goal in (g for g in node.tables.query.goals if g.source == source):
            columns = dict(node.tables.goals[goal.number].variables)
            named = {n.name: n.expr for n in node.prepared[source]}
            for i in goal.key:
                term = goal.terms[i]
                if isinstance(term, Variable) and term.name in columns:
                    value = row_values(raw[source], place)(named[columns[term.name]])
                    if value is not None:
                        (found[term.name],) = plain_column(pa.chunked_array([value]))
    return found


def _threshold(plan: Node) -> str:
    above = [x for x in plan.walk() if isinstance(x, Filter) and isinstance(x.input, SequenceMatch)]
    return show(above[0].condition).replace("sequence.", "") if above else ""


def scan_conditions(node: SequenceMatch) -> Iterator[ScanConditions]:
    """The conditions of each subgoal on one row, and those of WHERE on its choice."""
    for goal in node.tables.query.goals:
        source, columns = node.sources[goal.source], node.tables.goals[goal.number]
        if isinstance(source, Filter) and node.filtered:
            source = source.input
        if isinstance(source, Scan):
            flags = {named.name: named.expr for named in node.prepared[goal.source]}
            chosen = [flags[flag] for flag in (columns.candidate, columns.accepted) if flag is not None]
            yield ScanConditions(source, tuple(part for flag in chosen for part in conjuncts(flag)), goal.text)


CONDITIONS = {SequenceMatch: scan_conditions}
WHY_NOT = {SequenceMatch: why_sequence}
# Nodes whose input rows are not traced; nodes that report the threshold of a filter above them.
PLAIN: tuple[type[Node], ...] = (Infer,)
TELLS_FILTER: tuple[type[Node], ...] = (SequenceMatch,)
