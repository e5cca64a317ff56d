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
    event = np.arange(events)
    texts = pa.table(
        {
            "event": event,
            "attribute": pa.array(np.full(events, "text")),
            "text": pa.array(event % 3).cast(pa.string()),
            "number": pa.nulls(events, pa.float64()),
        }
    )
    numbers = pa.table(
        {
            "event": event,
            "attribute": pa.array(np.full(events, "number")),
            "text": pa.nulls(events, pa.string()),
            "number": event.astype(np.float64),
        }
    )
    return pa.concat_tables([texts, numbers])


if __name__ == "__main__":
    warm()
