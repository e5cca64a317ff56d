"""Similar contexts: the search against a plain comparison with every past event, and what recent history is worth.

100,000 past events with contexts of 20 terms, Zipf-like over 5,000 values of four attributes; once all texts, once with
two numbers in place of two texts. The plain comparison is the slow twin of the tests, on a part of the history, scaled
by the number of events (for texts its cost grows with them; for numbers with their square, which the scaling leaves
out). Then what the newest tenth, fifth and half of history know of the exact top ten. That is a matter of the data: if
the same values are about all the time, any part of history knows as much as it is long. So contexts are made in which
users, processes and hosts come and go: each is about for a half, a fifth, a tenth or a twentieth of history, but for a
share that is there for good. Weights are once those of the part alone, once those of the part and of the sample that
the engine reads of older history, once those of all of history: then what is missed is just what is not in the part.
Processor time of one thread. Run as: python benchmarks/recall_similar.py [past events] [recent]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.history_sample import Slice, plan_slices
from presage.operators.recall.kernel.sampled_counts import Beyond
from presage.operators.recall.kernel.similarity import Similar, most_similar
from presage.operators.recall.kernel.store import Store
from presage.operators.recall.kernel.warm import warm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.similar_contexts import most_similar as slowly

VALUES, TERMS, K = 5_000, 20, 10
NAMES = np.array(["user", "proc", "host", "port"])
PART, NEW, SINGLE = 400, 1_000, 20
DEEP = 2_000
PARTS = {"tenth": 0.1, "fifth": 0.2, "half": 0.5}
LIVES = {"all": 0, "a half": 2, "a fifth": 5, "a tenth": 10, "a twentieth": 20}  # of history: so many in all


def make_terms(
    random: np.random.Generator, events: int, numbers: int, at: np.ndarray | None = None, staying: float = 1
) -> pa.Table:
    """Terms of some events. `at`: when each happens, in lifetimes of a value; a share of the values stay for good."""
    texts = TERMS - numbers
    share = 1 / np.arange(1, VALUES + 1)
    value = random.choice(VALUES, events * texts, p=share / share.sum())
    if at is not None:
        slots = np.random.default_rng(1)
        begins, stays = slots.random(VALUES), slots.random(VALUES) < staying
        holder = np.floor(np.repeat(at, texts) + begins[value])
        value = value + VALUES * np.where(stays[value], 0, holder).astype(np.int64)
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


def ask(
    store: Store, terms: pa.Table, events: int, begin: int = 0, count: int = K, beyond: Beyond | None = None
) -> Similar:
    fresh = store.code(events, terms)
    return most_similar(store, fresh, np.full(events, len(store)), np.full(events, begin), count, beyond=beyond)


def sample_of(store: Store, terms: pa.Table, begin: int, new: int) -> Beyond:
    """What the engine reads of the events before `begin`: an event each second, and each is a row of a file."""
    past, owner = len(store), terms["event"].to_numpy()
    slices = plan_slices([(0, past - 1, past)], Chunk(begin, past), past - begin, 0, 0)
    slices = [Slice(0, begin, 1)] if slices is None else slices  # all of it is read
    chosen = np.concatenate([np.arange(each.low, each.high) for each in reversed(slices)])
    place = np.full(past, -1)
    place[chosen] = np.arange(len(chosen))
    taken = terms.filter(pa.array(place[owner] >= 0))
    taken = taken.set_column(0, "event", pa.array(place[taken["event"].to_numpy()]))
    weight = np.full(len(chosen), slices[0].weight)
    return Beyond(store.code(len(chosen), taken), weight, np.zeros(new, np.int64))


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


def know_recent(past: int, lives: int, staying: float) -> str:
    """What parts of history know of the exact answer, if values change hands so many times, but for those that stay."""
    random = np.random.default_rng(12)
    terms = make_terms(random, past, 0, np.arange(past) / past * lives, staying)
    new = make_terms(random, 100, 0, np.full(100, float(lives)), staying)
    store = Store()
    store.add_newer(events_of(past), terms)
    whole = ask(store, new, 100, count=DEEP)
    score = dict(zip(pairs(whole), whole.similarity.tolist(), strict=True))
    exact = {pair: score[pair] for pair, rank in zip(pairs(whole), whole.rank.tolist(), strict=True) if rank <= K}
    found = []
    for part in PARTS.values():
        begin = int(past * (1 - part))
        alone = pairs(ask(store, new, 100, begin))
        recent = pairs(ask(store, new, 100, begin, beyond=sample_of(store, terms, begin, 100)))
        same, before = (len(exact.keys() & set(found)) / len(exact) for found in (recent, alone))
        there = sum(event >= begin for _, event in exact) / len(exact)
        alike = sum(score.get(pair, 0) for pair in recent) / sum(exact.values())
        found.append(f"{same:.2f} ({before:.2f}, {there:.2f}), {alike:.2f}")
    return " | ".join(found)


def pairs(found: Similar) -> list[tuple[int, int]]:
    return list(zip(found.new.tolist(), found.past.tolist(), strict=True))


if __name__ == "__main__":
    warm()
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if "recent" not in sys.argv:
        compare(events, 0)
        compare(events, 2)
    print("of the exact top ten, those found in the newest part of history (with its own weights, with those of all of")
    print("history), and how similar those found are in all")
    print(f"| a value is about for | stay for good | {' | '.join(PARTS)} |")
    for life, lives in LIVES.items():
        for staying in (0.2, 0.05, 0) if lives else (1,):
            print(f"| {life} | {staying:.0%} | {know_recent(events, lives, staying)} |", flush=True)
