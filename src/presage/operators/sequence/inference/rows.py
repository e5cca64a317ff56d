"""Inference over all readings of some keys at once: FILTER, SMOOTH, VITERBI, PARTICLES.

Readings, in any order, are a table with TIME, the key and the observed attributes. Rows are sorted by key (in order of
appearance), then by time: key, TIME, the state, for SMOOTH the state before, probability. Only states of probability 0
are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of
from presage.arrays.columns import ints, taken
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import lexical_order, take_rows
from presage.columnar.key_hashes import hashes_of_several
from presage.errors import error
from presage.operators.sequence.inference.model import EVIDENCE, Discrete, Model
from presage.operators.sequence.kernel.hidden_markov.filter import count_ignored
from presage.operators.sequence.kernel.hidden_markov.forward import filter_steps
from presage.operators.sequence.kernel.hidden_markov.particles import particle_steps
from presage.operators.sequence.kernel.hidden_markov.path import path_steps
from presage.operators.sequence.kernel.hidden_markov.readings import Readings, readings_of
from presage.operators.sequence.kernel.hidden_markov.smooth import smooth_steps
from presage.operators.sequence.kernel.hidden_markov.spec import NOT_FORGOTTEN, PROBABILITY, TIME, Columns, HiddenMarkov
from presage.operators.sequence.kernel.hidden_markov.steps import NONE, Steps, step_times, steps_of

MOST_CELLS = 1 << 28  # steps of one key times states: 2 GB for each of the two matrices of SMOOTH


@dataclass(frozen=True)
class Inferred:
    """Rows; the number of readings `ignored` because no (reachable) state can give them; and, by key in the order of
    the rows, the logarithm of the likelihood of its readings (VITERBI: with the path; PARTICLES: NaN). `restarts`: the
    number of steps at which no particle could give the readings."""

    rows: pa.Table
    ignored: int
    log_likelihood: Floats
    restarts: int = 0


class Sequences:
    """Readings as arrays of the loops: `key_rows[k]` is a row of key k, `steps` are its steps."""

    def __init__(self, model: HiddenMarkov, table: pa.Table, columns: Columns) -> None:
        codes, count = equality_codes([table[name] for name in columns.key], table.num_rows)
        when = step_times(model, ints(table, TIME))
        order = lexical_order([codes, when]) if table.num_rows else codes
        bounds = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))]).astype(np.int64)
        nothing = np.full(count, NONE, np.int64)
        self.model = model
        self.columns = columns
        self.table = table
        self.key_rows = first_of(codes, count)
        self.steps: Steps = steps_of(model, bounds, when[order], nothing, nothing)
        ordered = take_rows(table.select(columns.observes), order)
        self.readings: Readings = readings_of(model, ordered, columns.observes)

    def check_memory(self, what: str) -> None:
        longest = int(np.diff(self.steps.bounds).max(initial=0))
        if longest * self.model.size > MOST_CELLS:
            what = f"{what} of a key with {longest:,} steps and {self.model.size:,} states"
            fix = 'use FILTER, make "step" longer, let the model "forget" silent keys, or infer a shorter time'
            raise error("LIMIT", what=what, limit_name="steps times states of a key", limit=f"{MOST_CELLS:,}", fix=fix)

    def inferred(
        self, ends: Ints, states: Ints, chances: Floats, said: Floats, usable: Bools, before: Ints | None = None
    ) -> Inferred:
        of_step = np.repeat(np.arange(len(usable)), np.diff(ends))
        of_key = np.repeat(np.arange(len(self.key_rows)), np.diff(self.steps.bounds))
        place = self.key_rows[of_key[of_step]]
        names, kind = self.columns, self.columns.type
        rows = {name: taken(self.table, name, place) for name in names.key}
        rows[TIME] = pa.array(self.steps.time[of_step])
        rows[names.attribute] = self.model.names(states, kind)
        if before is not None:
            rows[names.before] = self.model.names(before, kind)
        # Rounding may leave a sum a little above 1.
        rows[PROBABILITY] = pa.array(np.minimum(chances, 1.0))
        totals = np.bincount(of_key, weights=said, minlength=len(self.key_rows)).astype(np.float64)
        return Inferred(pa.table(rows), count_ignored(self.steps, self.readings, usable), totals)


def filtered(model: Model, table: pa.Table, columns: Columns) -> Inferred:
    """P(state now | readings so far)."""
    s = Sequences(tables_of(model), table, columns)
    keys = len(s.key_rows)
    before, in_logs = np.zeros((keys, s.model.size)), np.zeros(keys, np.int64)
    ends, states, chances, _, _, said, usable = filter_steps(
        s.model.chain, s.model.emission, s.steps, s.readings, before, in_logs
    )
    return s.inferred(ends, states, chances, said, usable)


def smoothed(
    model: Model, table: pa.Table, columns: Columns, prune: float = 0.0, marginals: bool = False, bridge: bool = False
) -> Inferred:
    """P(state now | state before, all readings); `marginals`: P(state now | all readings), with no state before.

    `prune` drops smaller entries, except the greatest, and normalises the rest. `bridge` adds the marginal of each
    step, with null before, for queries with other steps between those of a key.
    """
    if not 0.0 <= prune <= 1.0:
        expected = "a probability between 0 and 1"
        raise error("BAD_VALUE", what="the bound to prune SMOOTH at", found=prune, expected=expected, fix="change it")
    s = Sequences(tables_of(model), table, columns)
    s.check_memory("SMOOTH")
    ends, entries, chances, said, usable = smooth_steps(
        s.model.chain, s.model.emission, s.steps, s.readings, int(not marginals), int(bridge), float(prune)
    )
    before, states = np.divmod(entries, s.model.size)
    return s.inferred(ends, states, chances, said, usable, None if marginals else before - 1)


def most_likely(model: Model, table: pa.Table, columns: Columns) -> Inferred:
    """The most likely path, each of its states with probability 1."""
    s = Sequences(tables_of(model), table, columns)
    s.check_memory("VITERBI")
    states, said, usable = path_steps(s.model.log_chain, s.model.emission, s.steps, s.readings)
    return s.inferred(np.arange(len(states) + 1), states, np.ones(len(states)), said, usable)


def sampled(model: Model, table: pa.Table, columns: Columns, particles: int, seed: int = 0) -> Inferred:
    """FILTER, approximately, by particles. The same rows for the same seed, key and times."""
    if particles < 1:
        raise error("BAD_VALUE", what="the number of PARTICLES", found=particles, expected="at least 1", fix="raise it")
    s = Sequences(tables_of(model), table, columns)
    keys = [pa.chunked_array([taken(table, name, s.key_rows)]) for name in columns.key]
    hashes, seed = hashes_of_several(keys, len(s.key_rows)).view(np.int64), (seed + 2**63) % 2**64 - 2**63
    none, starts = np.zeros(0, np.int64), np.zeros(len(s.key_rows) + 1, np.int64)
    ends, states, chances, usable, anew, *_ = particle_steps(
        s.model.draws, s.model.emission, s.steps, s.readings, hashes, seed, particles, starts, none, none
    )
    found = s.inferred(ends, states, chances, np.full(len(usable), np.nan), usable)
    return replace(found, restarts=int(anew.sum()))


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
    step, forget = model.step or 0, NOT_FORGOTTEN if model.forget is None else model.forget
    return HiddenMarkov(
        model.states, initial, offsets, targets, weights, symbols, table, absent, mean, variance, step, forget
    )
