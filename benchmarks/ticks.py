"""Numbers in, ticks out: random walks of many symbols, interleaved in order of time, and the number of their falls.

A fall, the pattern of the benchmarks of `MATCH_RECOGNIZE`: at least three ticks down after any tick, then one up. Falls
are counted here with plain NumPy, so that no contestant is believed on its own word.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

ROWS = 2_000_000
SYMBOLS = 1_000
BEGIN = 1_700_000_000_000_000
STEP = 1_000  # microseconds from one tick to the next
_FALL = 3  # the least number of ticks that must fall


def make_ticks(rows: int = ROWS, symbols: int = SYMBOLS, seed: int = 1) -> pa.Table:
    """One tick a millisecond, each of a symbol drawn at random. Prices have four digits: a few neighbours are equal."""
    random = np.random.default_rng(seed)
    owners = random.integers(0, symbols, rows)
    places = np.argsort(owners, kind="stable")
    walked = np.cumsum(random.standard_normal(rows))
    counts = np.bincount(owners, minlength=symbols)
    begins = np.cumsum(counts) - counts
    # Each symbol's walk begins at 100, whatever the walks before it have come to.
    walked -= np.repeat(np.append(0.0, walked)[begins], counts)
    prices = np.empty(rows)
    prices[places] = np.round(100 + walked / 10, 4)
    names = pa.array([f"SYM{number:05d}" for number in range(symbols)])
    return pa.table(
        {
            "sym": names.take(pa.array(owners)),
            "price": prices,
            "at": pa.array(BEGIN + STEP * np.arange(rows, dtype=np.int64), pa.timestamp("us", "UTC")),
        }
    )


def count_matches(ticks: pa.Table) -> int:
    """How often `(STRT DOWN{3,} UP)` matches, skipping past the last row: all symbols abreast, tick by tick."""
    codes = ticks["sym"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    prices = ticks["price"].to_numpy()
    places = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    numbers = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    # NaN after the last tick of a symbol is neither below nor above it.
    abreast = np.full((int(counts.max(initial=0)), len(counts)), np.nan)
    abreast[numbers, codes[places]] = prices[places]
    falling = np.full(len(counts), -1)  # ticks that fell since the one that a match could begin with; -1: there is none
    matches = 0
    for before, now in zip(np.vstack([abreast[:1], abreast[:-1]]), abreast, strict=True):
        begun = falling >= 0
        matched = begun & (now > before) & (falling >= _FALL)
        matches += int(matched.sum())
        falling = np.where(begun & (now < before), falling + 1, 0)
        falling[matched] = -1
    return matches
