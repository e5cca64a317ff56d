"""Compiles the loops of hidden Markov models into the cache on disk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.particles import particle_steps
from presage.operators.sequence.kernel.hidden_markov.path import path_steps
from presage.operators.sequence.kernel.hidden_markov.readings import Readings
from presage.operators.sequence.kernel.hidden_markov.smooth import smooth_steps
from presage.operators.sequence.kernel.hidden_markov.spec import SEQ, TIME, Columns, HiddenMarkov
from presage.operators.sequence.kernel.hidden_markov.steps import Steps


def warm_hidden_markov() -> None:
    """Run each loop on one reading."""
    one = np.ones(1)
    model = HiddenMarkov(
        states=("s",),
        initial=one,
        offsets=np.array([0, 1]),
        targets=np.array([0]),
        weights=one,
        symbols=("x",),
        table=np.ones((1, 1)),
        absent=one,
        mean=np.zeros((0, 1)),
        variance=np.ones((0, 1)),
    )
    kernel = FilterKernel(model, Columns(("k",), ("r",)))
    events = pa.table({TIME: [1], SEQ: [0], "k": ["a"], "r": ["x"]})
    kernel.step(kernel.initial(), events, 1, end=True)
    zero, one_step = np.array([0]), np.array([1])
    steps = Steps(np.array([0, 1]), zero, zero, one_step, one_step, zero, zero)
    readings = Readings(zero, np.zeros((0, 1)), np.zeros(1, np.bool_))
    smooth_steps(model.chain, model.emission, steps, readings, 1, 0, 0.0)
    path_steps(model.log_chain, model.emission, steps, readings)
    particle_steps(model.draws, model.emission, steps, readings, zero, 0, 1, np.zeros(2, np.int64), zero[:0], zero[:0])
