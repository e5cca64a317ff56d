"""A particle filter as it was common when the paper was written: multinomial resampling, in NumPy, for comparison.

PARTICLES resamples systematically: one random number for a step, and particles of equal weight stay as they are. Here n
numbers are drawn, so that particles are lost and doubled at every step even if nothing is read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from simulator import BEGIN, SECOND, Traces

from presage.operators.sequence.inference.model import Model
from presage.operators.sequence.inference.rows import tables_of
from presage.operators.sequence.kernel.hidden_markov.spec import PROBABILITY, TIME


def multinomial_rows(model: Model, traces: Traces, particles: int, seed: int = 0) -> pa.Table:
    """Shares of the particles in each place, by person and second, all people at once."""
    tables = tables_of(model)
    random = np.random.default_rng((seed, 3))
    people, size = len(traces.people), tables.size
    ways = np.zeros((size, size))
    ways[np.repeat(np.arange(size), np.diff(tables.offsets)), tables.targets] = tables.weights
    ways = np.cumsum(ways, axis=1)
    says = _likelihoods(model, traces)
    places = _chosen(tables.initial, random.random((people, particles)))
    rows = []
    for second in range(traces.seconds):
        if second:
            places = (ways[places] <= random.random((*places.shape, 1))).sum(axis=-1).clip(max=size - 1)
        weights = np.take_along_axis(says[second], places, axis=1)
        for person, numbers in enumerate(random.random(places.shape)):
            if weights[person].any():
                places[person] = places[person][_chosen(weights[person], numbers)]
            else:
                places[person] = _chosen(says[second, person] * tables.initial, numbers)
            counts = np.bincount(places[person], minlength=size)
            found = np.flatnonzero(counts)
            rows.append((np.full(len(found), person), np.full(len(found), second), found, counts[found] / particles))
    person, second, place, share = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    order = np.lexsort((second, person))
    return pa.table(
        {
            "person": pa.array(traces.people).take(pa.array(person[order])),
            TIME: BEGIN + second[order] * SECOND,
            "location": pa.array(tables.states).take(pa.array(place[order])),
            PROBABILITY: share[order],
        }
    )


def _chosen(weights: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """For each number the first place whose running sum is above that part of the whole."""
    sums = np.cumsum(weights)
    return np.searchsorted(sums, numbers * sums[-1], side="right").clip(max=len(weights) - 1)


def _likelihoods(model: Model, traces: Traces) -> np.ndarray:
    """By second, person and place: how likely is what is read then."""
    tables = tables_of(model)
    read = np.ones((traces.seconds, len(traces.people), tables.size))
    silent = np.ones(read.shape[:2], np.bool_)
    symbols = {symbol: number for number, symbol in enumerate(tables.symbols)}
    numbers = {person: number for number, person in enumerate(traces.people)}
    times = (traces.readings[TIME].to_numpy() - BEGIN) // SECOND
    pairs = zip(times, traces.readings["person"].to_pylist(), traces.readings["antenna"].to_pylist(), strict=True)
    for second, person, antenna in pairs:
        if antenna is not None:
            read[second, numbers[person]] *= tables.table[symbols[antenna]]
            silent[second, numbers[person]] = False
    return np.where(silent[..., None], tables.absent, read)
