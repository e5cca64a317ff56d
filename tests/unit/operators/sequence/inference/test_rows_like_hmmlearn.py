"""Posteriors, likelihoods and most likely paths agree with hmmlearn to 1e-8, where both apply."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM

from presage.operators.sequence.inference.model import Model, parse_model
from presage.operators.sequence.inference.rows import Inferred, filtered, most_likely, smoothed
from presage.operators.sequence.kernel.hidden_markov.spec import PROBABILITY, TIME, Columns

KEYS = ("a", "b")
TOLERANCE = 1e-8


def stochastic(random: np.random.Generator, *shape: int) -> np.ndarray:
    values = random.random(shape)
    return values / values.sum(axis=-1, keepdims=True)


def model_of(initial: np.ndarray, transition: np.ndarray, emission: dict[str, Any]) -> Model:
    content = {
        "states": [f"s{i}" for i in range(len(initial))],
        "initial": initial.tolist(),
        "transition": transition.tolist(),
        "emission": emission,
    }
    return parse_model(content, "model.json")


def posteriors(found: Inferred, states: int, steps: int) -> np.ndarray:
    """By (key, step, state); times are the numbers of the steps."""
    dense = np.zeros((len(KEYS), steps, states))
    for row in found.rows.to_pylist():
        dense[KEYS.index(row["key"]), row[TIME], int(row["value"][1:])] = row[PROBABILITY]
    return dense


def weight_of(rival: Any, path: list[int], sequence: np.ndarray) -> float:
    """Logarithm of the probability of a path and the readings."""
    read = rival._compute_log_likelihood(sequence)
    with np.errstate(divide="ignore"):
        ways = np.log(rival.transmat_)
    total = np.log(rival.startprob_[path[0]]) + sum(read[step, state] for step, state in enumerate(path))
    return float(total + sum(ways[before, after] for before, after in pairwise(path)))


def compare(rival: Any, model: Model, sequences: list[np.ndarray], table: pa.Table, columns: Columns) -> None:
    states, steps = len(model.states), len(sequences[0])
    both = smoothed(model, table, columns, marginals=True)
    smooth = posteriors(both, states, steps)
    forward = posteriors(filtered(model, table, columns), states, steps)
    path = most_likely(model, table, columns)
    for key, sequence in enumerate(sequences):
        score, posterior = rival.score_samples(sequence)
        np.testing.assert_allclose(smooth[key], posterior, rtol=0, atol=TOLERANCE)
        assert both.log_likelihood[key] == pytest.approx(score, rel=TOLERANCE)
        # The filter at a step is what smoothing says at the last step of a shorter sequence.
        for end in (1, steps // 2, steps):
            np.testing.assert_allclose(
                forward[key, end - 1], rival.predict_proba(sequence[:end])[-1], rtol=0, atol=TOLERANCE
            )
        best, states_of_path = rival.decode(sequence, algorithm="viterbi")
        rows = path.rows.filter(pa.compute.equal(path.rows["key"], KEYS[key]))
        ours = [int(value[1:]) for value in rows["value"].to_pylist()]
        assert path.log_likelihood[key] == pytest.approx(best, rel=TOLERANCE)
        assert weight_of(rival, ours, sequence) == pytest.approx(best, rel=TOLERANCE)
        # Where a symbol is read twice, paths that swap two steps are equally likely, and rounding chooses for hmmlearn.
        if isinstance(rival, GaussianHMM):
            assert ours == states_of_path.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_discrete_readings(seed: int) -> None:
    random = np.random.default_rng(seed)
    states, symbols, steps = (1, 3, 5, 12, 40)[seed], 4, 60
    initial, transition = stochastic(random, states), stochastic(random, states, states)
    if seed > 1:  # a graph: most ways are closed
        near = np.abs(np.subtract.outer(np.arange(states), np.arange(states))) <= 1
        transition = np.where(near, transition, 0.0)
        transition /= transition.sum(axis=1, keepdims=True)
    chances = stochastic(random, states, symbols)
    rival = CategoricalHMM(states)
    rival.startprob_, rival.transmat_, rival.emissionprob_ = initial, transition, chances
    table = [{f"y{i}": chance for i, chance in enumerate(row)} for row in chances.tolist()]
    model = model_of(initial, transition, {"kind": "discrete", "table": table})
    sequences = [random.integers(0, symbols, (steps, 1)) for _ in KEYS]
    readings = pa.table(
        {
            TIME: np.tile(np.arange(steps), len(KEYS)),
            "key": np.repeat(KEYS, steps),
            "reading": [f"y{symbol}" for sequence in sequences for symbol in sequence[:, 0]],
        }
    )
    compare(rival, model, sequences, readings, Columns(("key",), ("reading",)))


# Far apart: the density of one state is e^-5000 times that of the other, and less than the least double.
@pytest.mark.parametrize(("seed", "spread"), [(0, 1.0), (1, 3.0), (2, 10.0), (3, 100.0), (4, 100.0)])
def test_normal_readings(seed: int, spread: float) -> None:
    random = np.random.default_rng(seed)
    states, width, steps = 4, 2, 50
    initial, transition = stochastic(random, states), stochastic(random, states, states)
    if seed == 4:  # no way from one state to another: only what is too faint for a double can be right at the end
        transition = np.eye(states)
    means, variances = random.normal(0, spread, (states, width)), 0.5 + random.random((states, width))
    rival = GaussianHMM(states, covariance_type="diag")
    rival.n_features = width
    rival.startprob_, rival.transmat_ = initial, transition
    rival.means_, rival.covars_ = means, variances
    emission = {"kind": "gaussian", "mean": means.tolist(), "variance": variances.tolist()}
    model = model_of(initial, transition, emission)
    sequences = [means[random.integers(0, states, steps)] + random.normal(0, 1, (steps, width)) for _ in KEYS]
    values = np.concatenate(sequences)
    readings = pa.table(
        {
            TIME: np.tile(np.arange(steps), len(KEYS)),
            "key": np.repeat(KEYS, steps),
            "x": values[:, 0],
            "y": values[:, 1],
        }
    )
    compare(rival, model, sequences, readings, Columns(("key",), ("x", "y")))
