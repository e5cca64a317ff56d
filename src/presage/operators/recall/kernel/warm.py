"""Compiles the loops into the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.operators.recall.kernel.dot_products import similarities
from presage.operators.recall.kernel.similarity import most_similar
from presage.operators.recall.kernel.store import LOOSE, Store


def warm() -> None:
    """Compile every loop of the folder, by a small history of texts and numbers."""
    # More than the store leaves outside its index.
    events = 2 * LOOSE
    store = Store()
    number = np.arange(events)
    store.add_newer(pa.table({"time": number, "seq": number}), _terms(events))
    fresh = store.code(2, _terms(2))
    most_similar(store, fresh, np.full(2, events), np.zeros(2, np.int64), 1)
    similarities(fresh, np.ones(len(store.counts)), np.zeros(1, np.int64), np.ones(1, np.int64))


def _terms(events: int) -> pa.Table:
    """A text and a number of each event."""
    none = [None] * events
    texts, numbers = [str(i % 3) for i in range(events)], [float(i) for i in range(events)]
    columns = {"event": np.tile(np.arange(events), 2), "attribute": ["text"] * events + ["number"] * events}
    typed = {"text": pa.array(texts + none, pa.string()), "number": pa.array(none + numbers, pa.float64())}
    return pa.table(columns | typed)


if __name__ == "__main__":
    warm()
