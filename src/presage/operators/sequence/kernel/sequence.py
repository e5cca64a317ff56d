"""The kernel of SEQUENCE: emits the answers of a step when the watermark has passed it.

A sequence that is computed step by step keeps beliefs: the probability of each state of its automaton, by group. Others
keep all rows and answer when the input ends. Answers do not depend on batches.
"""

from __future__ import annotations

from collections.abc import Sequence as Several

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints
from presage.arrays.rows import append_rows
from presage.errors import error
from presage.model.operator_state import State
from presage.operators.sequence.kernel.build import Built, build_facts
from presage.operators.sequence.kernel.facts import Answers
from presage.operators.sequence.kernel.regular.beliefs import before_of, load_beliefs, nothing_known, save_beliefs
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular
from presage.operators.sequence.kernel.safe.evaluation import evaluate_safe
from presage.operators.sequence.kernel.spec import SEQ, TIME, KeyHashes, Oracle, SequenceTables
from presage.operators.sequence.kernel.worlds.enumeration import enumerate_worlds
from presage.operators.sequence.kernel.worlds.most_likely import most_likely
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds

KERNEL = "sequence"
ORDINAL = "_ord"
WAITING = "waiting"
EXACT, SAMPLED = "exact", "sampled"


class SequenceKernel:
    """`columns`: names of the output without time and order: the selected variables, the probability and, if it may be
    sampled, the method and bounds. `seed` and `names` (hashes of keys) determine random numbers."""

    def __init__(
        self,
        spec: SequenceTables,
        columns: tuple[str, ...],
        oracle: Oracle | None = None,
        seed: int = 0,
        names: KeyHashes | None = None,
    ) -> None:
        self.spec = spec
        self.columns = columns
        self.oracle = oracle
        self.seed = seed
        self.names = names

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        rows = append_rows(state.tables.get(WAITING), events)
        ready = np.ones(rows.num_rows, np.bool_) if end else ints(rows, TIME) < clock
        if not end and (not self.spec.by_steps or not ready.any()):
            after = State(KERNEL, {**state.tables, WAITING: rows}, dict(state.numbers))
            return after, self._table(_nothing(len(self.spec.query.selected)), None, rows.slice(0, 0))
        now = rows if ready.all() else rows.filter(pa.array(ready))
        after, answers, built = self._evaluate(state, now)
        if not end:
            after.tables[WAITING] = rows.filter(pa.array(~ready))
        return after, self._table(answers, built, now)

    def _evaluate(self, state: State, rows: pa.Table) -> tuple[State, Answers, Built]:
        spec = self.spec
        query = spec.query
        if self.spec.by_steps:
            carried = load_beliefs(spec, state)
            built = build_facts(spec, rows, self.oracle, carried)
            before = nothing_known(spec) if carried is None else before_of(spec, carried, built)
            made = evaluate_regular(query, built.facts, frozenset(spec.given), before)
            if made is None:
                raise _too_large()
            return State(KERNEL, save_beliefs(spec, made.beliefs, built)), made.answers, built
        built = build_facts(spec, rows, self.oracle, names=self.names)
        facts = built.facts
        if spec.by is not None:
            facts = most_likely(query, facts, paths=spec.by != "mle")
        elif spec.method == "safe":
            assert spec.plan is not None
            return State(KERNEL), evaluate_safe(query, facts, spec.plan), built
        if spec.stepwise:
            # Possible if each group reads one of the Markov chains only; the most likely world has none.
            made = evaluate_regular(query, facts, frozenset(spec.given))
            if made is not None:
                return State(KERNEL), made.answers, built
        found = enumerate_worlds(query, facts)
        if found is None:
            found = sample_worlds(query, facts, spec.error, spec.confidence, self.seed)
        return State(KERNEL), found, built

    def _table(self, answers: Answers, built: Built | None, rows: pa.Table) -> pa.Table:
        """The answers as rows, in order: by step, then by the selected values."""
        query = self.spec.query
        answers = _known(answers)
        times = built.numbers.times if built is not None else np.zeros(0, np.int64)
        time = times[answers.step] if len(answers.step) else np.zeros(0, np.int64)
        values = [self._values(name, answers.bindings[:, i], built, rows) for i, name in enumerate(query.selected)]
        columns: dict[str, pa.Array] = {
            TIME: pa.array(time),
            SEQ: pa.array(_last_arrivals(rows, time) if answers.arrival is None else answers.arrival),
            ORDINAL: pa.array(np.zeros(len(time), np.int64)),
        }
        own: list[pa.Array] = [*values, pa.array(answers.probability)]
        if len(self.columns) > len(own):
            method = SAMPLED if answers.sampled else EXACT
            own += [pa.array([method] * len(time), pa.string()), pa.array(answers.low), pa.array(answers.high)]
        table = pa.table(columns | dict(zip(self.columns, own, strict=True)))
        return _in_order(table, self.columns[: len(values)])

    def _values(self, name: str, numbers: Ints, built: Built | None, rows: pa.Table) -> pa.Array:
        column = next(c for goal in self.spec.goals for n, c in goal.variables if n == name)
        if built is None:
            return pa.array([], rows.schema.field(column).type)
        return built.numbers.variables[name].take(pa.array(numbers))


def _known(answers: Answers) -> Answers:
    """Without answers in which a selected variable is null."""
    if (answers.bindings >= 0).all():
        return answers
    kept = np.flatnonzero((answers.bindings >= 0).all(axis=1))
    p, low, high = answers.probability[kept], answers.low[kept], answers.high[kept]
    arrival = None if answers.arrival is None else answers.arrival[kept]
    return Answers(answers.bindings[kept], answers.step[kept], p, low, high, answers.sampled, arrival)


def _nothing(width: int) -> Answers:
    none = np.zeros(0)
    return Answers(np.zeros((0, width), np.int64), np.zeros(0, np.int64), none, none, none)


def _last_arrivals(rows: pa.Table, time: Ints) -> Ints:
    """The arrival of the last row of each answer's step: only then it was known."""
    if not len(time):
        return np.zeros(0, np.int64)
    times, place = np.unique(ints(rows, TIME), return_inverse=True)
    last = np.zeros(len(times), np.int64)
    np.maximum.at(last, place.reshape(-1), ints(rows, SEQ))
    found: Ints = last[np.searchsorted(times, time)]
    return found


def _in_order(table: pa.Table, names: Several[str]) -> pa.Table:
    """Rows of one step by their selected values, numbered."""
    if table.num_rows > 1:
        keys = [(TIME, "ascending"), *((name, "ascending") for name in names)]
        table = table.sort_by(keys).combine_chunks()
    times = ints(table, TIME)
    first = np.searchsorted(times, times)
    ordinal = pa.array(np.arange(len(times)) - first)
    return table.set_column(table.column_names.index(ORDINAL), ORDINAL, ordinal)


def _too_large() -> Exception:
    fix = "divide the sequence: INSERT its first part INTO a stream"
    return error("LIMIT", what="the automaton of a sequence", limit_name="states and symbols", limit=1 << 14, fix=fix)
