"""Sequences over uncertain streams, exactly: against the most likely stream, against sampling, and how they grow.

People at one of twenty places, four alternatives at each step; `office ; hall+ ; coffee room`, for each person and for
some person. The rivals: BY MLE, which looks for the most likely value of each step in the same rows; the same query on
a stream that has only those, as events that happened; and a bit-vector sampler with error 0.1 at confidence 0.9, which
begins with the same arrays as the exact evaluation. Kernels alone, one core; interleaved, the minimum of seven. Last,
10,000 keys of 10,000 steps, as the kernel stands.
Run as: python benchmarks/sequences.py [keys] [steps] [rounds]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa
from interleaved import ROUNDS, minima

from presage.columnar.evaluate import Evaluator
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.sequence.kernel.build import build_facts
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular
from presage.operators.sequence.kernel.sequence import SequenceKernel
from presage.operators.sequence.kernel.spec import SEQ, SOURCE, TIME, worlds_needed
from presage.operators.sequence.kernel.worlds.sampling import sample_worlds
from presage.operators.sequence.nodes import SequenceMatch
from presage.operators.sequence.stages import sequence_kernel
from presage.storage.relations import relation_table
from presage.workspace import Workspace

PLACES, ALTERNATIVES, SECOND = 20, 4, 1_000_000
ERROR, CONFIDENCE = 0.1, 0.9
MLE_LIMIT, SAMPLER_LIMIT, RATE = 2.0, 30.0, 5.0
DECLARED = """
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC {} (place);
CREATE STREAM Was (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person);
CREATE RELATION Office (place STRING) VALUES ('p1'), ('p2'), ('p3');
CREATE RELATION Hall (place STRING) VALUES ('p4'), ('p5'), ('p6'), ('p7'), ('p8'), ('p9');
CREATE RELATION CRoom (place STRING) VALUES ('p10'), ('p11');
"""
COFFEE = """SELECT {0} FROM SEQUENCE [
  {1}(p, a) WHERE Office(a) ; ({1}(p, b) WHERE Hall(b))+{{p}} ; {1}(p, c) WHERE CRoom(c) ] {2}"""


class Case:
    """A query, its kernel, and the rows of a stream as the kernel takes them."""

    def __init__(self, text: str, markov: bool = False) -> None:
        workspace = Workspace([], ".")
        workspace.check(DECLARED.format("MARKOV" if markov else ""))
        query = parse_statement(text)
        assert isinstance(query, s.Query)
        (self.node,) = [n for n in workspace.bind(query).plan.walk() if isinstance(n, SequenceMatch)]
        self.relations = {name: relation_table(r) for name, r in workspace.catalog.relations.items()}

    def kernel(self) -> SequenceKernel:
        return sequence_kernel(self.node, self.relations)

    def rows(self, events: pa.Table) -> pa.Table:
        named = self.node.prepared[0]
        made = Evaluator(self.relations).columns([n.expr for n in named], events)
        own = {TIME: events[TIME], SEQ: events[SEQ], SOURCE: pa.array(np.zeros(events.num_rows, np.int8))}
        return pa.table(own | {n.name: values for n, values in zip(named, made, strict=True)}).combine_chunks()

    def answer(self, rows: pa.Table) -> pa.Table:
        kernel = self.kernel()
        return kernel.step(kernel.initial(), rows, 2**62, True)[1]


def places(keys: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Step, person, place and probability of the alternatives, by step and person."""
    random = np.random.default_rng(1)
    step = np.repeat(np.arange(steps), keys * ALTERNATIVES)
    person = np.tile(np.repeat(np.arange(keys), ALTERNATIVES), steps)
    first = np.repeat(random.integers(0, PLACES, steps * keys), ALTERNATIVES)
    place = (first + np.tile(np.arange(ALTERNATIVES) * 5, steps * keys)) % PLACES
    chance = random.random((steps * keys, ALTERNATIVES))
    chance /= chance.sum(axis=1, keepdims=True) * 1.05
    return step, person, place, chance.reshape(-1)


def events_of(alias: str, step: np.ndarray, person: np.ndarray, place: np.ndarray, **more: pa.Array) -> pa.Table:
    people = pa.array([f"person-{i}" for i in range(int(person.max()) + 1)])
    named = pa.array([f"p{i}" for i in range(PLACES)])
    columns = {TIME: pa.array(step * SECOND), SEQ: pa.array(np.arange(len(step)))}
    columns |= {f"{alias}.person": people.take(pa.array(person)), f"{alias}.place": named.take(pa.array(place))}
    return pa.table(columns | {f"{alias}.{name}": values for name, values in more.items()})


def uncertain(keys: int, steps: int) -> pa.Table:
    step, person, place, chance = places(keys, steps)
    return events_of("At", step, person, place, probability=pa.array(chance))


def likely(keys: int, steps: int) -> pa.Table:
    """The most likely place of each person and step, as events that happened."""
    step, person, place, chance = places(keys, steps)
    best = chance.reshape(-1, ALTERNATIVES).argmax(axis=1) + np.arange(steps * keys) * ALTERNATIVES
    return events_of("Was", step[best], person[best], place[best])


def chained(keys: int, steps: int) -> pa.Table:
    """Markov rows: each of the alternatives of a step after each of those of the step before."""
    step, person, place, chance = places(keys, steps)
    blocks = place.reshape(steps, keys, ALTERNATIVES)
    size = ALTERNATIVES
    now = np.tile(blocks[1:, :, None, :], (1, 1, size, 1)).reshape(-1)
    before = np.tile(blocks[:-1, :, :, None], (1, 1, 1, size)).reshape(-1)
    likely_now = np.tile(chance.reshape(steps, keys, 1, size)[1:], (1, 1, size, 1)).reshape(-1)
    at = np.repeat(np.arange(1, steps), keys * size * size)
    who = np.tile(np.repeat(np.arange(keys), size * size), steps - 1)
    first = keys * size
    named = pa.array([f"p{i}" for i in range(PLACES)])
    prev = pa.concat_arrays([pa.nulls(first, pa.string()), named.take(pa.array(before))])
    return events_of(
        "At",
        np.append(step[:first], at),
        np.append(person[:first], who),
        np.append(place[:first], now),
        probability=pa.array(np.append(chance[:first], likely_now)),
        prev_place=prev,
    )


def against_rivals(keys: int, steps: int, rounds: int) -> None:
    for title, select in (("for each person", "p"), ("for some person", "*")):
        exact, rival = Case(COFFEE.format(select, "At", "")), Case(COFFEE.format(select, "Was", ""))
        by_mle = Case(COFFEE.format(select, "At", "BY MLE"))
        events = uncertain(keys, steps)
        table, same, one = exact.rows(events), by_mle.rows(events), rival.rows(likely(keys, steps))
        tables = exact.node.tables
        facts = build_facts(tables, table, None).facts
        query, given = tables.query, frozenset(tables.given)
        best = minima(
            {
                "exact": lambda e=exact, t=table: e.answer(t),  # type: ignore[misc]
                "by MLE": lambda e=by_mle, t=same: e.answer(t),  # type: ignore[misc]
                "most likely stream": lambda r=rival, t=one: r.answer(t),  # type: ignore[misc]
                "automaton": lambda q=query, f=facts, g=given: evaluate_regular(q, f, g),  # type: ignore[misc]
                "sampler": lambda q=query, f=facts: sample_worlds(q, f, ERROR, CONFIDENCE, 7),  # type: ignore[misc]
            },
            rounds,
        )
        print(f"{title}: {keys:,} keys, {steps:,} steps, {table.num_rows:,} tuples")
        for name in ("exact", "automaton"):
            rate = table.num_rows / best[name] / 1e6
            print(f"  {name} {best[name]:.3f} s, {rate:.1f} M tuples a second (target {RATE:g})")
        print(f"  exact {best['exact'] / best['by MLE']:.2f} x BY MLE (limit {MLE_LIMIT:g})")
        print(f"  exact {best['exact'] / best['most likely stream']:.2f} x a stream of the most likely values alone")
        draws = worlds_needed(ERROR, CONFIDENCE) * keys * steps / best["sampler"] / 1e6
        ratio = best["sampler"] / best["automaton"]
        print(f"  sampler {ratio:.1f} x automaton (target {SAMPLER_LIMIT:g}), {draws:.0f} M draws a second")


def growth(rounds: int) -> None:
    exact = Case(COFFEE.format("p", "At", ""))
    print("seconds and million tuples a second")
    for keys, steps in ((100, 1_000), (1_000, 1_000), (10_000, 100), (10_000, 400), (100, 10_000), (10, 100_000)):
        table = exact.rows(uncertain(keys, steps))
        best = minima({"exact": lambda t=table: exact.answer(t)}, rounds)["exact"]  # type: ignore[misc]
        print(f"  {keys:>7,} keys x {steps:>7,} steps: {best:7.3f} s {table.num_rows / best / 1e6:6.1f}")
    chain = Case(COFFEE.format("p", "At", ""), markov=True)
    table = chain.rows(chained(200, 500))
    best = minima({"exact": lambda: chain.answer(table)}, rounds)["exact"]
    print(f"  Markov, 200 keys x 500 steps: {best:7.3f} s {table.num_rows / best / 1e6:6.1f}")
    for goals in range(2, 9):
        text = " ; ".join(f"At(p, 'p{i}')" for i in range(goals))
        case = Case(f"SELECT p FROM SEQUENCE [ {text} ]")
        table = case.rows(uncertain(500, 1_000))
        best = minima({"exact": lambda c=case, t=table: c.answer(t)}, rounds)["exact"]  # type: ignore[misc]
        print(f"  {goals} subgoals: {best:7.3f} s {table.num_rows / best / 1e6:6.1f}")


def at_length(keys: int = 10_000, steps: int = 10_000, batch: int = 100) -> None:
    """As it stands: batch after batch of steps, with the state carried. The seconds of the first and the last tenth."""
    case = Case(COFFEE.format("p", "At", ""))
    kernel, table = case.kernel(), case.rows(uncertain(keys, batch))
    state, took = kernel.initial(), []
    for first in range(0, steps, batch):
        times = pa.array(table[TIME].to_numpy() + first * SECOND)
        arrivals = pa.array(table[SEQ].to_numpy() + first * keys * ALTERNATIVES)
        rows = pa.table({**{name: table[name] for name in table.column_names}, TIME: times, SEQ: arrivals})
        begin = time.perf_counter()
        state, _ = kernel.step(state, rows, (first + batch) * SECOND, first + batch >= steps)
        took.append(time.perf_counter() - begin)
    tenth = max(len(took) // 10, 1)
    rate = keys * steps * ALTERNATIVES / sum(took) / 1e6
    print(f"deployed, {keys:,} keys x {steps:,} steps in batches of {batch}: {sum(took):.1f} s, {rate:.1f} M tuples/s;")
    print(f"  the first tenth {sum(took[:tenth]):.1f} s, the last {sum(took[-tenth:]):.1f} s")


def main(keys: int = 1_000, steps: int = 500, rounds: int = ROUNDS) -> None:
    begin = time.perf_counter()
    against_rivals(keys, steps, rounds)
    growth(min(rounds, 3))
    at_length()
    print(f"in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
