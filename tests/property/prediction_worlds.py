"""Random predicted streams and questions about them, in the words of the kernel and in those of its slow twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from presage.operators.prediction.kernel.join import Matches
from presage.operators.prediction.kernel.pieces import Pieces, build_pieces
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm, Mode, ValueTerm
from reference.predictions import SECOND, Join, Term, Update

COMPARATORS = {
    "<=": Comparator.LE,
    "<": Comparator.LT,
    ">": Comparator.GT,
    ">=": Comparator.GE,
    "<>": Comparator.NE,
    "=": Comparator.EQ,
}
MODES = {"plain": Mode.PLAIN, "may": Mode.MAY, "must": Mode.MUST}
QUARTER = SECOND // 4

# Few and round, so that meetings at a point, parallel lines and touching intervals are frequent, and bounds fractions
# with small denominators.
values = st.integers(-4, 4).map(float)
rates = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 2.0, -0.5, -1.0, -2.0])
thresholds = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0])
constants = st.sampled_from([0.0, 1.0, 1.0, 0.5, 2.0, 3.0, -1.0])
windows = st.sampled_from([0, 0, 1, 2, 4, 6]).map(lambda n: n * QUARTER)
periods = st.sampled_from([4, 8, 16, 30]).map(lambda n: n * QUARTER)
comparators = st.sampled_from(list(COMPARATORS))
modes = st.sampled_from(list(MODES))
unusable = st.sampled_from([float("nan"), float("inf")])


def updates(keys: tuple[int, ...], most: int = 6, lacking: bool = True) -> st.SearchStrategy[list[Update]]:
    """Two attributes each; now and then one that says nothing."""
    value = st.one_of(values, values, values, values, values, values, unusable) if lacking else values
    two = st.tuples
    update = st.builds(
        Update,
        st.sampled_from(keys),
        st.integers(0, 20).map(lambda n: n * QUARTER),
        two(value, values),
        two(rates, rates),
        two(thresholds, thresholds),
    )
    return st.lists(update, min_size=1, max_size=most)


def join_terms() -> st.SearchStrategy[Term]:
    return st.builds(Term, st.integers(0, 1), comparators, constants, modes, st.integers(0, 1))


def value_terms() -> st.SearchStrategy[Term]:
    return st.builds(Term, st.integers(0, 1), comparators, values, modes)


def joins(least: int = 1, most: int = 2) -> st.SearchStrategy[Join]:
    some = st.lists(value_terms(), max_size=1).map(tuple)
    none = st.just(())
    return st.builds(
        Join,
        st.lists(join_terms(), min_size=least, max_size=most).map(tuple),
        windows,
        st.one_of(none, some),
        st.one_of(none, some),
    )


def kernel_values(terms: tuple[Term, ...]) -> tuple[ValueTerm, ...]:
    return tuple(ValueTerm(t.left, COMPARATORS[t.comparator], t.constant, MODES[t.mode]) for t in terms)


def kernel_join(join: Join, same: bool = False) -> JoinSpec:
    terms = tuple(JoinTerm(t.left, t.right, COMPARATORS[t.comparator], t.constant, MODES[t.mode]) for t in join.terms)
    return JoinSpec(terms, join.window, kernel_values(join.left), kernel_values(join.right), same)


def turned(spec: JoinSpec) -> JoinSpec:
    """The same question with the sides exchanged."""
    terms = tuple(replace(term, left=term.right, right=term.left) for term in spec.terms)
    return replace(spec, terms=terms, left=spec.right, right=spec.left)


def pieces_of(stream: list[Update], period: int) -> Pieces:
    columns = [np.array([getattr(u, name) for u in stream], float) for name in ("values", "rates", "thresholds")]
    keys, times = np.array([u.key for u in stream], np.int64), np.array([u.at for u in stream], np.int64)
    return build_pieces(keys, times, *columns, period)


Row = tuple[int, int, bool, bool]


def rows_of(matches: Matches, left: int, right: int) -> list[Row]:
    """From, to and openness of the rows of one pair."""
    chosen = (matches.left == left) & (matches.right == right)
    columns = (matches.valid_from, matches.valid_to, matches.from_open, matches.to_open)
    return [tuple(row) for row in zip(*(column[chosen].tolist() for column in columns), strict=True)]


def all_rows(matches: Matches) -> list[tuple[int | bool, ...]]:
    columns = (
        matches.left,
        matches.right,
        matches.valid_from,
        matches.valid_to,
        matches.from_open,
        matches.to_open,
    )
    return sorted(zip(*(column.tolist() for column in columns), strict=True))
