"""Laws of probabilities over predicted streams, against integrals and against a search by brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from presage.operators.prediction.kernel.chances.joint import Bounds, Values, joint_chance
from presage.operators.prediction.kernel.chances.likelihood import distance_chances, value_chances
from presage.operators.prediction.kernel.chances.shared_errors import LOW_A, groups_of
from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.spec import (
    AtLeast,
    Comparator,
    ErrorModel,
    Errors,
    JoinSpec,
    JoinTerm,
    Mode,
    ValueSpec,
    ValueTerm,
)
from presage.operators.prediction.kernel.values import validity
from property.prediction_worlds import (
    COMPARATORS,
    all_rows,
    comparators,
    joins,
    kernel_join,
    kernel_values,
    pieces_of,
    rows_of,
    turned,
    value_terms,
)
from reference.predictions import (
    SECOND,
    Join,
    Term,
    Update,
    allowed,
    chained,
    chance_at,
    chance_of,
    chance_of_values,
    holds_of_value,
)

PERIOD = 4 * SECOND


def with_chances() -> st.SearchStrategy[Join]:
    """Joins of which a probability can be asked: no attribute is compared with several others."""
    return joins().filter(lambda asked: not chained(asked))


sizes = st.one_of(st.just(0.0), st.floats(0.01, 4.0), st.sampled_from([1e-3, 1e6]))
some_sizes = st.one_of(st.just(0.0), st.floats(0.1, 3.0))
differences = st.one_of(st.integers(-5, 5).map(float), st.floats(-8.0, 8.0))
chances = st.sampled_from([0.05, 0.25, 0.5, 0.8, 0.95, 1.0])


@given(comparators, differences, differences, sizes, sizes)
def test_the_closed_form_for_uniform_errors_is_the_integral(
    comparator: str, x: float, constant: float, left: float, right: float
) -> None:
    # The twin integrates over the right error; a step within it would be too fine to find.
    narrow, wide = sorted((left, right))
    assume(narrow == 0 or wide / narrow < 1e8)
    found = distance_chances(
        np.array([x]), np.array([left]), np.array([right]), COMPARATORS[comparator], constant, Errors()
    )
    assert found[0] == pytest.approx(chance_of(Term(0, comparator, constant), x, wide, narrow), abs=1e-9)


@settings(max_examples=40)
@given(
    comparators,
    differences,
    differences,
    some_sizes,
    some_sizes,
    st.one_of(st.floats(0.2, 2.0), st.sampled_from([1e-3, 0.02, 100.0])),
)
def test_quadrature_for_normal_errors_is_the_integral(
    comparator: str, x: float, constant: float, left: float, right: float, sigma: float
) -> None:
    errors = Errors(ErrorModel.NORMAL, sigma)
    found = distance_chances(
        np.array([x]), np.array([left]), np.array([right]), COMPARATORS[comparator], constant, errors
    )
    assert found[0] == pytest.approx(chance_of(Term(0, comparator, constant), x, left, right, sigma), abs=1e-9)


@given(comparators, differences, differences, sizes, st.sampled_from([None, 0.5, 1.5]))
def test_the_chance_of_a_value_is_the_integral(
    comparator: str, x: float, constant: float, threshold: float, sigma: float | None
) -> None:
    errors = Errors() if sigma is None else Errors(ErrorModel.NORMAL, sigma)
    found = value_chances(np.array([x]), np.array([threshold]), COMPARATORS[comparator], constant, errors)
    assert found[0] == pytest.approx(chance_of(Term(0, comparator, constant), x, threshold, None, sigma), abs=1e-9)


bounds = st.lists(st.tuples(st.sampled_from([">=", "<="]), differences), max_size=2)
distances = st.lists(st.tuples(st.sampled_from([">", "<="]), st.floats(0.0, 6.0)), min_size=1, max_size=2)


def together(
    values: tuple[float, float],
    sizes: tuple[float, float],
    terms: tuple[list[tuple[str, float]], ...],
    sigma: float | None,
) -> tuple[float, float, float]:
    """What the kernel says of terms on a value of a, of b, and on their distance; and its slopes."""
    a, b, both = terms
    limits = [[ValueTerm(0, COMPARATORS[comparator], constant) for comparator, constant in own] for own in (a, b)]
    _, groups = groups_of([JoinTerm(0, 0, COMPARATORS[comparator], constant) for comparator, constant in both], *limits)
    model = ErrorModel.UNIFORM if sigma is None else ErrorModel.NORMAL
    errors = Errors(int(model), 0.0 if sigma is None else sigma)
    return joint_chance(Values(*values, *sizes), Bounds(*groups[0, LOW_A:]), errors)


@given(differences, differences, some_sizes, some_sizes, bounds, bounds, distances, st.sampled_from([None, 0.3, 1.5]))
def test_the_chance_of_conditions_that_share_errors_is_the_integral(
    x: float,
    y: float,
    left: float,
    right: float,
    of_a: list[tuple[str, float]],
    of_b: list[tuple[str, float]],
    both: list[tuple[str, float]],
    sigma: float | None,
) -> None:
    assume(left + right > 0)
    # What is sure has no chance to be in doubt.
    terms = (of_a if left else [], of_b if right else [], both)
    own = [tuple(Term(0, *term) for term in some) for some in terms]
    a, b = Update(0, 0, (x,), (0.0,), (left,)), Update(1, 0, (y,), (0.0,), (right,))
    wanted = chance_at(Join(own[2], 0, own[0], own[1]), a, 0, b, 0, sigma)
    chance, by_a, by_b = together((x, y), (left, right), terms, sigma)
    assert chance == pytest.approx(wanted, abs=1e-9)
    turned_chance, *slopes = together((y, x), (right, left), (terms[1], terms[0], both), sigma)
    assert turned_chance == chance
    # Where there is no chance there is no slope, only a way to where there may be one: from the middle there are two.
    if chance > 1e-6:
        assert slopes == pytest.approx([by_b, by_a], abs=1e-6)


@given(
    differences,
    differences,
    st.floats(0.1, 3.0),
    st.floats(0.1, 3.0),
    bounds,
    bounds,
    distances,
    st.sampled_from([None, 0.5]),
)
def test_slopes_of_a_shared_chance_are_those_of_its_logarithm(
    x: float,
    y: float,
    left: float,
    right: float,
    of_a: list[tuple[str, float]],
    of_b: list[tuple[str, float]],
    both: list[tuple[str, float]],
    sigma: float | None,
) -> None:
    def at(x: float, y: float) -> tuple[float, float, float]:
        return together((x, y), (left, right), (of_a, of_b, both), sigma)

    chance, by_a, by_b = at(x, y)
    assume(chance > 1e-3)
    step = 1e-6
    for slope, one, other in ((by_a, at(x + step, y), at(x - step, y)), (by_b, at(x, y + step), at(x, y - step))):
        ahead, behind = (one[0] - chance) / step, (chance - other[0]) / step
        # At a kink a slope is one of those at its sides.
        assert min(ahead, behind) - 1e-3 <= slope * chance <= max(ahead, behind) + 1e-3


def test_a_value_between_two_bounds_is_as_likely_as_the_part_between_them() -> None:
    pieces = pieces_of([Update(0, 0, (5.0,), (0.0,), (5.0,))], PERIOD)
    between = (ValueTerm(0, Comparator.GE, 4.0), ValueTerm(0, Comparator.LE, 6.0))
    assert validity(pieces, ValueSpec(between, probability=True)).probability == pytest.approx([0.2])
    assert len(validity(pieces, ValueSpec(between, at_least=AtLeast(0.21)))) == 0


def test_what_may_be_farther_than_both_thresholds_together_is_likely_on_either_side() -> None:
    # The thresholds add up to K itself: all distances may be farther, and each sign of the difference is a strip.
    a, b = Update(0, 0, (3.0, 0.0), (0.0, 0.0), (0.5, 1.0)), Update(1, 0, (0.0, 0.0), (0.0, 3.0), (0.0, 0.0))
    terms = tuple(JoinTerm(i, i, Comparator.GE, k, Mode.MAY) for i, k in ((0, 0.5), (1, 1.0)))
    for pieces in (pieces_of([a], PERIOD), pieces_of([b], PERIOD)), (pieces_of([b], PERIOD), pieces_of([a], PERIOD)):
        found = join(*pieces, JoinSpec(terms, 0, probability=True, at_least=AtLeast(0.5)))
        assert found.probability == pytest.approx([1.0])
        assert found.valid_to[0] == PERIOD


@pytest.mark.parametrize("model", ErrorModel)
@pytest.mark.parametrize("window", [0, SECOND])
def test_a_chance_that_is_level_where_two_values_meet_is_the_greatest_where_they_are_farthest(
    model: ErrorModel, window: int
) -> None:
    # They meet after a second, where the chance that they are farther is the least, and are 1.8 apart in the end.
    a = Update(0, 0, (0.6,), (-0.6,), (1.7,))
    b = Update(1, 0, (0.0,), (0.0,), (2.09,))
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    spec = JoinSpec((JoinTerm(0, 0, Comparator.GE, 0.815, Mode.MAY),), window, probability=True, errors=Errors(model))
    sizes_of_both = np.array([1.7, 1.7]), np.array([2.09, 2.09])
    at_start, at_end = distance_chances(np.array([0.6, 1.8]), *sizes_of_both, Comparator.GE, 0.815, spec.errors)
    assert join(*pieces, spec).probability == pytest.approx([at_end], abs=1e-9)
    p = 0.5 * (at_start + at_end)
    (found,) = rows_of(join(*pieces, replace(spec, at_least=AtLeast(float(p)))), 0, 1)
    apart = np.array([abs(0.6 - 0.6 * found[0] / SECOND)])
    at_cut = distance_chances(apart, np.array([1.7]), np.array([2.09]), Comparator.GE, 0.815, spec.errors)
    assert at_cut[0] == pytest.approx(p, abs=1e-6)
    assert found[1] == PERIOD


def single(key: int) -> st.SearchStrategy[Update]:
    """One update with two attributes that are not sure."""
    number, rate = st.integers(-3, 3).map(float), st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0])
    threshold = st.sampled_from([0.0, 0.5, 1.0, 1.5])
    return st.builds(
        Update,
        st.just(key),
        st.sampled_from([0, SECOND]),
        st.tuples(number, number),
        st.tuples(rate, rate),
        st.tuples(threshold, threshold),
    )


def chances_over(asked: Join, a: Update, b: Update, at: int) -> float:
    """The greatest chance at a moment, over many earlier times of either; -1 if none is allowed."""
    best = -1.0
    for back in range(21):
        earlier = Fraction(at) - Fraction(asked.window * back, 20)
        for at_a, at_b in ((Fraction(at), earlier), (earlier, Fraction(at))):
            inside = a.at <= at_a <= a.at + PERIOD and b.at <= at_b <= b.at + PERIOD
            if inside and allowed(asked, a, at_a, b, at_b):
                best = max(best, chance_at(asked, a, at_a, b, at_b))
    return best


@given(with_chances(), single(1), single(2), chances)
def test_without_a_window_a_trimmed_row_ends_where_the_chance_passes_p(
    asked: Join, a: Update, b: Update, p: float
) -> None:
    asked = replace(asked, window=0)
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    spec = kernel_join(asked)
    ends = {end for row in rows_of(join(*pieces, spec), 1, 2) for end in row[:2]}
    for low, high, _, _ in rows_of(join(*pieces, replace(spec, at_least=AtLeast(p))), 1, 2):
        for end in {low, high} - ends:
            assert chance_at(asked, a, end, b, end) == pytest.approx(p, abs=1e-5)
        assert chance_at(asked, a, (low + high) // 2, b, (low + high) // 2) >= p - 1e-5


@settings(max_examples=60)
@given(with_chances(), single(1), single(2), chances)
def test_trimmed_rows_are_the_times_that_are_likely_enough(asked: Join, a: Update, b: Update, p: float) -> None:
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    rows = rows_of(join(*pieces, replace(kernel_join(asked), at_least=AtLeast(p))), 1, 2)
    for at in range(SECOND // 8, 6 * SECOND, SECOND // 2):
        best = chances_over(asked, a, b, at)
        inside = any(low - 2 <= at <= high + 2 for low, high, _, _ in rows)
        well_inside = any(low < at < high for low, high, _, _ in rows)
        # What brute force finds is there; what is there brute force finds, but for how coarse it is.
        if best >= p + 1e-9:
            assert inside
        if well_inside:
            assert best == -1 or best >= p - 0.25


@settings(max_examples=60)
@given(with_chances(), single(1), single(2))
def test_the_probability_of_a_row_is_the_greatest_within_it(asked: Join, a: Update, b: Update) -> None:
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    found = join(*pieces, replace(kernel_join(asked), probability=True))
    assert all_rows(found) == all_rows(join(*pieces, kernel_join(asked)))
    for low, high, chance in zip(found.valid_from, found.valid_to, found.probability, strict=True):
        best = -1.0
        for at in range(int(low), int(high) + 1, max(1, int(high - low) // 8)):
            best = max(best, chances_over(asked, a, b, at))
        assert 0 <= chance <= 1
        assert chance >= best - 1e-9
        # Brute force has a step of an eighth of the row.
        assert best == -1 or chance <= best + 0.25


# Of a constant below a nanosecond's way nothing is left but the moment in which two values are the same.
TINY = 1e-9
near_constants = st.one_of(st.floats(0.2, 3.0), st.floats(0.2, 3.0), st.sampled_from([0.0, 6.6e-173, 1e-12, 1e-3]))
near = st.lists(
    st.builds(JoinTerm, st.just(0), st.just(0), st.sampled_from([Comparator.LE, Comparator.LT]), near_constants),
    min_size=1,
    max_size=1,
).flatmap(lambda terms: st.just((*terms, replace(terms[0], left=1, right=1))))


def greatest_on_grids(a: Update, b: Update, spec: JoinSpec) -> float:
    """Over ever finer grids of both times, each around the best of the one before."""
    low, high, best = np.array([a.at, b.at]) / SECOND, np.array([a.at + PERIOD, b.at + PERIOD]) / SECOND, -1.0
    for _ in range(12):
        t_a, t_b = (x.ravel() for x in np.meshgrid(*(np.linspace(low[i], high[i], 41) for i in (0, 1))))
        chance = (np.abs(t_a - t_b) <= spec.window / SECOND).astype(float)
        for term in spec.terms:
            x = a.values[term.left] + a.rates[term.left] * (t_a - a.at / SECOND)
            z = x - b.values[term.right] - b.rates[term.right] * (t_b - b.at / SECOND)
            sizes = [np.full(len(z), u.thresholds[k]) for u, k in ((a, term.left), (b, term.right))]
            allowed_here = np.abs(z) <= term.constant
            if term.mode is Mode.MAY:
                allowed_here = np.abs(z) + sizes[0] + sizes[1] >= term.constant
            chance *= allowed_here * distance_chances(z, *sizes, term.comparator, term.constant, spec.errors)
        place = int(np.argmax(chance))
        best = max(best, float(chance[place]))
        middle, wide = np.array([t_a[place], t_b[place]]), (high - low) / 6
        low, high = np.maximum(low, middle - wide), np.minimum(high, middle + wide)
    return best


@settings(max_examples=60)
@given(near, single(1), single(2), st.sampled_from(ErrorModel), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_probability_of_two_near_dimensions_is_the_greatest_of_a_fine_grid(
    terms: tuple[JoinTerm, ...], a: Update, b: Update, model: ErrorModel, window: float
) -> None:
    spec = JoinSpec(terms, int(window * SECOND), errors=Errors(model), probability=True)
    found = join(pieces_of([a], PERIOD), pieces_of([b], PERIOD), spec)
    best = greatest_on_grids(a, b, spec)
    if len(found):
        # Nothing on a grid is greater; the finest is a few millionths of a second wide, where it meets the region.
        assert found.probability.max() >= best - 1e-9
        # A grid seldom meets the line on which two values are the same.
        assert best <= 0 or window == 0 or terms[0].constant < 1e-2 or found.probability.max() <= best + 1e-3
    else:
        # An interval with open ends is longer than a nanosecond.
        assert best <= 0 or (terms[0].comparator is Comparator.LT and terms[0].constant <= TINY)


@pytest.mark.parametrize("thresholds", [(0.0, 0.0), (1.0, 0.5)], ids=["sure", "not sure"])
@pytest.mark.parametrize("model", ErrorModel)
def test_a_constant_smaller_than_any_difference_asks_whether_two_values_are_the_same(
    model: ErrorModel, thresholds: tuple[float, float]
) -> None:
    # One meets the other after two seconds, or they are the same all the time.
    meeting, still = Update(0, 0, (2.0,), (-1.0,), thresholds[:1]), Update(0, 0, (0.0,), (0.0,), thresholds[:1])
    other = pieces_of([Update(1, 0, (0.0,), (0.0,), thresholds[1:])], PERIOD)

    def found(a: Update, comparator: Comparator) -> list[tuple[int, int, bool, bool]]:
        spec = JoinSpec((JoinTerm(0, 0, comparator, 6.6e-173),), 0, probability=True, errors=Errors(model))
        matches = join(pieces_of([a], PERIOD), other, spec)
        sure = 1.0 if thresholds == (0.0, 0.0) or comparator in (Comparator.GT, Comparator.GE, Comparator.NE) else 0.0
        assert matches.probability == pytest.approx([sure] * len(matches), abs=1e-9)
        return rows_of(matches, 0, 1)

    at, always = 2 * SECOND, (0, PERIOD, False, False)
    assert found(meeting, Comparator.LE) == [(at, at, False, False)]
    # Shorter than a nanosecond, and without its ends.
    assert found(meeting, Comparator.LT) == []
    assert found(meeting, Comparator.GT) == [(0, at, False, True), (at, PERIOD, True, False)]
    assert found(still, Comparator.LE) == found(still, Comparator.LT) == found(still, Comparator.NE) == [always]
    assert found(still, Comparator.GE) == found(still, Comparator.GT) == found(still, Comparator.EQ) == []


def test_a_dimension_that_may_be_far_and_a_near_one_are_likely_together_where_a_fine_grid_says() -> None:
    a = Update(1, 2 * SECOND, (-1.414, 0.801), (-0.434, -1.554), (0.5, 1.633))
    b = Update(2, 1 * SECOND, (-0.585, 2.779), (0.0, -2.0), (0.0, 0.5))
    terms = JoinTerm(0, 0, Comparator.LE, 1.44), JoinTerm(1, 1, Comparator.GT, 0.115, Mode.MAY)
    spec = JoinSpec(terms, SECOND // 2, probability=True)
    found = join(pieces_of([a], PERIOD), pieces_of([b], PERIOD), spec)
    best = greatest_on_grids(a, b, spec)
    assert best - 1e-9 <= found.probability.max() <= best + 1e-5


far = st.lists(
    # Much less than 1e-6 would be lost in the rounding of the grid's differences.
    st.tuples(st.sampled_from([Comparator.GE, Comparator.GT]), st.one_of(st.floats(1e-6, 3.0), st.just(0.815))),
    min_size=1,
    max_size=2,
)


@settings(max_examples=60)
@given(far, single(1), single(2), st.sampled_from(ErrorModel), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_probability_of_dimensions_that_may_be_far_is_the_greatest_of_a_fine_grid(
    asked: list[tuple[Comparator, float]], a: Update, b: Update, model: ErrorModel, window: float
) -> None:
    # Most constants are less than the two thresholds together: both tails count, and there may be several peaks.
    terms = tuple(JoinTerm(i, i, comparator, k, Mode.MAY) for i, (comparator, k) in enumerate(asked))
    spec = JoinSpec(terms, int(window * SECOND), errors=Errors(model), probability=True)
    found = join(pieces_of([a], PERIOD), pieces_of([b], PERIOD), spec)
    best = greatest_on_grids(a, b, spec)
    if len(found):
        assert found.probability.max() >= best - 1e-9
        # The first grid is coarse, and finer ones may lie around a lesser peak; without a window they miss the line.
        assert best <= 0 or window == 0 or found.probability.max() <= best + 0.1
    else:
        assert best <= 0


@settings(max_examples=60)
@given(
    with_chances(),
    single(1),
    single(2),
    st.sampled_from(ErrorModel),
    st.lists(st.integers(1, 47), max_size=3, unique=True),
)
def test_what_is_asked_for_bit_by_bit_has_the_probability_of_the_whole(
    asked: Join, a: Update, b: Update, model: ErrorModel, cuts: list[int]
) -> None:
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    spec = replace(kernel_join(asked), probability=True, errors=Errors(model))
    whole = join(*pieces, spec)
    places = [None, *(cut * SECOND // 7 for cut in sorted(cuts)), None]
    # What reaches the end of a bit is told with the next one, which goes back by a microsecond for it.
    bits = [
        join(*pieces, spec, Times(None if after is None else after - 1, until, final=until is None))
        for after, until in itertools.pairwise(places)
    ]
    greatest = max((float(bit.probability.max()) for bit in bits if len(bit)), default=-1.0)
    assert greatest == (float(whole.probability.max()) if len(whole) else -1.0)


@given(with_chances(), single(1), single(2), chances, st.sampled_from(ErrorModel))
def test_what_is_likely_enough_is_also_a_match_and_less_is_asked_more_is_found(
    asked: Join, a: Update, b: Update, p: float, model: ErrorModel
) -> None:
    pieces = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    spec = replace(kernel_join(asked), errors=Errors(model), probability=True)
    rows = [rows_of(join(*pieces, replace(spec, at_least=x)), 1, 2) for x in (AtLeast(p), AtLeast(p / 2), None)]
    for fewer, more in itertools.pairwise(rows):
        for low, high, _, _ in fewer:
            assert any(first - 2 <= low and high <= last + 2 for first, last, _, _ in more)
    likely = join(*pieces, replace(spec, at_least=AtLeast(p)))
    assert (likely.probability >= p - 1e-9).all()


@given(with_chances(), single(1), single(2), chances)
def test_exchanging_the_sides_changes_no_chance(asked: Join, a: Update, b: Update, p: float) -> None:
    one, other = pieces_of([a], PERIOD), pieces_of([b], PERIOD)
    spec = replace(kernel_join(asked), probability=True, at_least=AtLeast(p))
    there, back = join(one, other, spec), join(other, one, turned(spec))
    assert len(there) == len(back)
    np.testing.assert_allclose(there.valid_from, back.valid_from, rtol=0, atol=1)
    np.testing.assert_allclose(there.valid_to, back.valid_to, rtol=0, atol=1)
    np.testing.assert_allclose(there.probability, back.probability, rtol=0, atol=1e-9)


@given(st.lists(value_terms(), min_size=1, max_size=2).map(tuple), single(1), chances)
def test_trimmed_value_rows_are_the_times_that_are_likely_enough(terms, update: Update, p: float) -> None:  # type: ignore[no-untyped-def]
    found = validity(pieces_of([update], PERIOD), ValueSpec(kernel_values(terms), at_least=AtLeast(p)))
    for at in range(update.at + 3, update.at + PERIOD, SECOND // 5):
        chance = chance_of_values(terms, update, at)
        is_there = all(holds_of_value(term, update, at) for term in terms) and chance >= p
        if abs(chance - p) > 1e-6 and all(abs(at - end) > 2 for end in (*found.valid_from, *found.valid_to)):
            assert bool(((found.valid_from < at) & (at < found.valid_to)).any()) is is_there
