"""Similar contexts: the search against a plain comparison with every past event, and what recent history is worth.

100,000 past events with contexts of 20 terms, Zipf-like over 5,000 values of four attributes; once all texts, once with
two numbers in place of two texts. The plain comparison is the slow twin of the tests, on a part of the history, scaled
by the number of events (for texts its cost grows with them; for numbers with their square, which the scaling leaves
out). Then contexts whose topics drift: how much of the exact top ten is known after the newest fifth and half.
Processor time of one thread. Run as: python benchmarks/recall_similar.py [past events]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from presage.recall.kernel.similarity import Similar, most_similar
from presage.recall.kernel.store import Store
from presage.recall.kernel.warm import warm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.similar_contexts import most_similar as slowly

VALUES, TERMS, K = 5_000, 20, 10
NAMES = np.array(["user", "proc", "host", "port"])
PART, NEW, SINGLE = 400, 1_000, 20


def make_terms(random: np.random.Generator, events: int, numbers: int, drift: np.ndarray | None = None) -> pa.Table:
    """Terms of some events. With `drift` (0 to 1, of each event) most terms come from the topic of that moment."""
    texts = TERMS - numbers
    share = 1 / np.arange(1, VALUES + 1)
    value = random.choice(VALUES, events * texts, p=share / share.sum())
    if drift is not None:
        topic = np.minimum((np.repeat(drift, texts) + random.normal(0, 0.05, len(value))) * VALUES, VALUES - 1)
        value = np.where(random.random(len(value)) < 0.7, np.abs(topic).astype(np.int64) // 10 * 10, value)
    tables = [
        pa.table(
            {
                "event": np.repeat(np.arange(events), texts),
                "attribute": pa.array(NAMES[value % 4]),
                "text": pa.array(value).cast(pa.string()),
                "number": pa.nulls(len(value), pa.float64()),
            }
        )
    ]
    for i in range(numbers):
        columns = [
            pa.array(np.arange(events)),
            pa.array(np.full(events, f"load{i}")),
            pa.nulls(events, pa.string()),
            pa.array(random.normal(size=events)),
        ]
        tables.append(pa.table(columns, names=tables[0].column_names))
    return pa.concat_tables(tables)


def events_of(count: int) -> pa.Table:
    return pa.table({"time": np.arange(count), "seq": np.arange(count)})


def contexts_of(terms: pa.Table, events: int) -> list[list[tuple[str, str | float | None]]]:
    contexts: list[list[tuple[str, str | float | None]]] = [[] for _ in range(events)]
    for row in terms.to_pylist():
        contexts[row["event"]].append((row["attribute"], row["text"] if row["text"] is not None else row["number"]))
    return contexts


def first_events(terms: pa.Table, count: int) -> pa.Table:
    return terms.filter(pa.array(terms["event"].to_numpy() < count))


def cost(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def ask(store: Store, terms: pa.Table, events: int, begin: int = 0) -> Similar:
    fresh = store.code(events, terms)
    return most_similar(store, fresh, np.full(events, len(store)), np.full(events, begin), K)


def compare(past: int, numbers: int) -> None:
    random = np.random.default_rng(11)
    terms, new = make_terms(random, past, numbers), make_terms(random, NEW, numbers)
    store = Store()
    filled = cost(lambda: store.add_newer(events_of(past), terms))
    indexed = cost(store.index)
    kind = f"{numbers} numbers" if numbers else "texts alone"
    print(f"{past:,} past events of {TERMS} terms, {kind} (filled in {filled:.1f} s, indexed in {indexed:.2f} s)")
    ones = [new.filter(pa.array(new["event"].to_numpy() == i)) for i in range(SINGLE)]
    ones = [one.set_column(0, "event", pa.array(np.zeros(one.num_rows, np.int64))) for one in ones]
    ask(store, ones[0], 1)
    times = [cost(lambda one=one: ask(store, one, 1)) for one in ones]
    single = float(np.mean(times))
    print(f"  one new event        {single * 1e3:10.2f} ms   (median {np.median(times) * 1e3:.2f} ms)")
    together = cost(lambda: ask(store, new, NEW)) / NEW
    print(f"  {NEW:,} in one call    {together * 1e3:10.2f} ms   each, 1/{single / together:.1f} of one alone")
    held, asked = contexts_of(first_events(terms, PART), PART), contexts_of(ones[0], 1)
    plain = cost(lambda: slowly(held, asked, [PART], [0], K, {})) / PART * past
    print(f"  plainly              {plain * 1e3:10.0f} ms   {plain / single:,.0f} times (of {PART} events, scaled)")


def follow_drift(past: int) -> None:
    random = np.random.default_rng(12)
    terms = make_terms(random, past, 0, np.arange(past) / past)
    new = make_terms(random, 100, 0, np.ones(100))
    store = Store()
    store.add_newer(events_of(past), terms)
    whole = ask(store, new, 100)
    exact = set(zip(whole.new.tolist(), whole.past.tolist(), strict=True))
    print("drifting topics: what the newest part of history knows of the exact top ten")
    for name, part in (("tenth", 0.1), ("fifth", 0.2), ("half", 0.5)):
        recent = ask(store, new, 100, int(past * (1 - part)))
        same = exact & set(zip(recent.new.tolist(), recent.past.tolist(), strict=True))
        score = dict(zip(zip(whole.new.tolist(), whole.past.tolist(), strict=True), whole.similarity, strict=True))
        mass = sum(score[pair] for pair in same) / whole.similarity.sum()
        print(f"  {name:6} {len(same) / len(exact):6.3f} of the events   {mass:6.3f} of the similarity")


if __name__ == "__main__":
    warm()
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    compare(events, 0)
    compare(events, 2)
    follow_drift(events)
