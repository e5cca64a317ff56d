"""Nothing comes in, compiled loops of hidden Markov models go out to the cache on disk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.probability.kernel.hmm_filter import FilterKernel
from presage.probability.kernel.hmm_particles import particle_steps
from presage.probability.kernel.hmm_path import path_steps
from presage.probability.kernel.hmm_smooth import smooth_steps
from presage.probability.kernel.hmm_spec import SEQ, TIME, Columns, HiddenMarkov


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
    bounds, zero, code = np.array([0, 1]), np.array([0]), np.array([0])
    steps = (bounds, zero, np.array([1]), np.array([1]), code, np.zeros((0, 1)))
    smooth_steps(model.chain, model.emission, *steps, 1, 0, 0.0)
    path_steps(model.log_chain, model.emission, *steps)
    particle_steps(model.draws, model.emission, *steps, zero, zero, 0, 1, np.zeros(2, np.int64), zero[:0], zero[:0])
