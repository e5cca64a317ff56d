"""A checked model as the arrays of its kernel."""

from __future__ import annotations

import numpy as np

from presage.operators.sequence.inference.model import EVIDENCE, Discrete, Model
from presage.operators.sequence.kernel.hidden_markov.spec import NEVER, HiddenMarkov


def tables_of(model: Model) -> HiddenMarkov:
    size = len(model.states)
    counts = [len(ways) for ways in model.transition]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    targets = np.array([to for ways in model.transition for to, _ in ways], np.int64)
    weights = np.array([p for ways in model.transition for _, p in ways], np.float64)
    symbols: tuple[str, ...] = ()
    table, absent = np.zeros((0, size)), np.ones(size)
    mean, variance = np.zeros((0, 1)), np.ones((0, 1))
    emission = model.emission
    if isinstance(emission, Discrete):
        symbols = emission.symbols
        table = np.array(emission.table, np.float64).T
        if emission.absent == EVIDENCE:
            # Rounding may leave a sum a little above 1.
            absent = np.maximum(1.0 - table.sum(axis=0), 0.0)
    else:
        mean, variance = np.array(emission.mean), np.array(emission.variance)
    initial = np.array(model.initial, np.float64)
    step, forget = model.step or 0, NEVER if model.forget is None else model.forget
    return HiddenMarkov(
        model.states, initial, offsets, targets, weights, symbols, table, absent, mean, variance, step, forget
    )
