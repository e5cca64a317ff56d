"""Terms come in, arrays for the loops go out. Apart from the terms, which are known before anything is computed."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.spec import JoinTerm, ValueTerm


def join_term_arrays(terms: tuple[JoinTerm, ...]) -> tuple[Ints, Floats]:
    """For the loops: a row (left, right, comparator, mode) for each term, and the constants."""
    rows = [(t.left, t.right, t.comparator, t.mode) for t in terms]
    return np.array(rows, np.int64).reshape(-1, 4), np.array([t.constant for t in terms], np.float64)


def value_term_arrays(terms: tuple[ValueTerm, ...]) -> tuple[Ints, Floats]:
    """For the loops: a row (attribute, comparator, mode) for each term, and the constants."""
    rows = [(t.attribute, t.comparator, t.mode) for t in terms]
    return np.array(rows, np.int64).reshape(-1, 3), np.array([t.constant for t in terms], np.float64)
