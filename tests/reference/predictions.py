"""A slow, obvious evaluator of predicted streams: it goes through times and asks the definitions, in exact fractions.

`matches_on_grid` tries every pair of times of a dense grid. `matches_at` decides one moment exactly: for a given later
time, the truth of a term over the earlier one changes only where a value reaches a bound, so that trying these places
and one in between each two is trying all. Probabilities are integrals, computed as such.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from scipy import integrate

SECOND = 1_000_000


@dataclass(frozen=True)
class Update:
    """Of `key` at time `at` (microseconds): for each attribute a value, a rate per second and a threshold."""

    key: int
    at: int
    values: tuple[float, ...]
    rates: tuple[float, ...]
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Term:
    """`x ⊙ constant` of attribute `left`, or |x_left − y_right| ⊙ constant. `mode`: plain, may, must."""

    left: int
    comparator: str
    constant: float
    mode: str = "plain"
    right: int = 0


@dataclass(frozen=True)
class Join:
    terms: tuple[Term, ...]
    window: int
    left: tuple[Term, ...] = ()
    right: tuple[Term, ...] = ()


def in_force(updates: list[Update], key: int, at: Fraction | int, period: int) -> Update | None:
    """The last update of the key up to that time, if it is not too old."""
    known = [update for update in updates if update.key == key and update.at <= at]
    if not known:
        return None
    newest = max(update.at for update in known)
    # Of two at one time, the later one in the list.
    update = [update for update in known if update.at == newest][-1]
    return update if at <= update.at + period else None


def value_of(update: Update, attribute: int, at: Fraction | int) -> Fraction | None:
    """None: the update does not say."""
    numbers = update.values[attribute], update.rates[attribute]
    if not all(map(math.isfinite, numbers)):
        return None
    return Fraction(numbers[0]) + Fraction(numbers[1]) * Fraction(at - update.at) / SECOND


def satisfied(term: Term, low: Fraction, high: Fraction) -> bool:
    """Of the values from low to high: of some in mode may, of all in mode must (plain: low = high)."""
    constant = Fraction(term.constant)
    if term.mode == "must":
        return {
            "<=": high <= constant,
            "<": high < constant,
            ">": low > constant,
            ">=": low >= constant,
            "=": low == high == constant,
            "<>": constant < low or high < constant,
        }[term.comparator]
    return {
        "<=": low <= constant,
        "<": low < constant,
        ">": high > constant,
        ">=": high >= constant,
        "=": low <= constant <= high,
        "<>": not low == high == constant,
    }[term.comparator]


def holds_of_value(term: Term, update: Update, at: Fraction | int) -> bool:
    x = value_of(update, term.left, at)
    if x is None:
        return False
    slack = Fraction(update.thresholds[term.left]) if term.mode != "plain" else Fraction(0)
    return satisfied(term, x - slack, x + slack)


def holds_of_pair(term: Term, a: Update, at_a: Fraction | int, b: Update, at_b: Fraction | int) -> bool:
    x, y = value_of(a, term.left, at_a), value_of(b, term.right, at_b)
    if x is None or y is None:
        return False
    slack = Fraction(0)
    if term.mode != "plain":
        slack = Fraction(a.thresholds[term.left]) + Fraction(b.thresholds[term.right])
    far = abs(x - y)
    return satisfied(term, max(Fraction(0), far - slack), far + slack)


def allowed(join: Join, a: Update | None, at_a: Fraction | int, b: Update | None, at_b: Fraction | int) -> bool:
    """Whether the two times go together."""
    return (
        a is not None
        and b is not None
        and abs(at_a - at_b) <= join.window
        and all(holds_of_value(term, a, at_a) for term in join.left)
        and all(holds_of_value(term, b, at_b) for term in join.right)
        and all(holds_of_pair(term, a, at_a, b, at_b) for term in join.terms)
    )


def matches_on_grid(
    join: Join, left: list[Update], a: int, right: list[Update], b: int, period: int, times: range
) -> set[int]:
    """Times of the grid at which a of the left matches b of the right, with both times on the grid."""
    forces = [(t, in_force(left, a, t, period), in_force(right, b, t, period)) for t in times]
    return {
        max(at_a, at_b) for at_a, of_a, _ in forces for at_b, _, of_b in forces if allowed(join, of_a, at_a, of_b, at_b)
    }


def likely_on_grid(
    join: Join, left: list[Update], a: int, right: list[Update], b: int, period: int, times: range
) -> dict[int, float]:
    """By times of the grid: how likely a of the left matches b of the right at most, with both times on the grid."""
    forces = [(t, in_force(left, a, t, period), in_force(right, b, t, period)) for t in times]
    best: dict[int, float] = {}
    for at_a, of_a, _ in forces:
        for at_b, _, of_b in forces:
            if of_a is not None and of_b is not None and abs(at_a - at_b) <= join.window:
                later = max(at_a, at_b)
                best[later] = max(best.get(later, 0.0), chance_at(join, of_a, at_a, of_b, at_b))
    return best


def holds_at(terms: tuple[Term, ...], updates: list[Update], key: int, at: Fraction | int, period: int) -> bool:
    """Whether the value terms hold at a moment."""
    update = in_force(updates, key, at, period)
    return update is not None and all(holds_of_value(term, update, at) for term in terms)


def matches_at(
    join: Join, left: list[Update], a: int, right: list[Update], b: int, period: int, at: Fraction | int
) -> bool:
    """Whether a of the left matches b of the right at a moment, exactly."""
    turned = Join(
        tuple(Term(t.right, t.comparator, t.constant, t.mode, t.left) for t in join.terms),
        join.window,
        join.right,
        join.left,
    )
    return _some_earlier(join, left, a, right, b, period, at) or _some_earlier(turned, right, b, left, a, period, at)


def earlier_times(
    join: Join, of_a: Update, right: list[Update], b: int, period: int, at: Fraction | int
) -> list[Fraction]:
    """With a at a given time and b no later: all times of b between which nothing can change, and those in between."""
    places = {Fraction(at), Fraction(at - join.window)}
    for update in right:
        if update.key != b:
            continue
        places |= {Fraction(update.at), Fraction(update.at + period)}
        bounds: list[tuple[int, Fraction]] = []
        for term in join.right:
            slack = Fraction(update.thresholds[term.left])
            bounds += [(term.left, Fraction(term.constant) + k * slack) for k in (-1, 0, 1)]
        for term in join.terms:
            x = value_of(of_a, term.left, at)
            if x is not None:
                slack = Fraction(of_a.thresholds[term.left]) + Fraction(update.thresholds[term.right])
                ways = [sign * Fraction(term.constant) + k * slack for sign in (-1, 1) for k in (-1, 0, 1)]
                bounds += [(term.right, x + way) for way in (*ways, Fraction(0))]
        for attribute, bound in bounds:
            if value_of(update, attribute, at) is not None and update.rates[attribute] != 0:
                gone = (bound - Fraction(update.values[attribute])) / Fraction(update.rates[attribute])
                places.add(update.at + gone * SECOND)
    inside = sorted(place for place in places if at - join.window <= place <= at)
    return inside + [(one + two) / 2 for one, two in itertools.pairwise(inside)]


def _some_earlier(
    join: Join, left: list[Update], a: int, right: list[Update], b: int, period: int, at: Fraction | int
) -> bool:
    of_a = in_force(left, a, at, period)
    if of_a is None:
        return False
    return any(
        allowed(join, of_a, at, in_force(right, b, at_b, period), at_b)
        for at_b in earlier_times(join, of_a, right, b, period, at)
    )


@lru_cache(maxsize=1 << 16)
def chance_of(term: Term, x: float, left: float, right: float | None, normal: float | None = None) -> float:
    """P that the real values satisfy the term: x is the difference (or the value, where `right` is None), left and
    right are thresholds. `normal`: the deviation as a part of the threshold; None: uniform. The mode has no say."""
    ends = (-1.0, 1.0) if normal is None else (-1.0, *(k * normal for k in (-9, -3, 0, 3, 9)), 1.0)
    kinks = [x + k * left + s * term.constant for k in ends for s in (-1, 1)]
    return _integral(
        lambda w: _chance_of_one(term, x - w, left, right is not None, normal), right or 0.0, normal, kinks
    )


def _chance_of_one(term: Term, x: float, threshold: float, distance: bool, normal: float | None) -> float:
    """P of the term for x + e with one error."""
    constant = term.constant
    if threshold == 0:
        real = abs(x) if distance else x
        return float(
            {
                "<=": real <= constant,
                "<": real < constant,
                ">": real > constant,
                ">=": real >= constant,
                "=": real == constant,
                "<>": real != constant,
            }[term.comparator]
        )
    if term.comparator in ("=", "<>"):
        return float(term.comparator == "<>")
    low, high = (-constant, constant) if distance else (-math.inf, constant)
    inside = 0.0
    if low <= high:
        inside = _integral_of_density(low - x, high - x, threshold, normal)
    return inside if term.comparator in ("<=", "<") else 1.0 - inside


def _density(e: float, threshold: float, normal: float | None) -> float:
    if normal is None:
        return 1 / (2 * threshold)
    sigma = normal * threshold
    whole = math.erf(threshold / (sigma * math.sqrt(2)))
    return math.exp(-0.5 * (e / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) / whole


def _integral_of_density(low: float, high: float, threshold: float, normal: float | None) -> float:
    low, high = max(low, -threshold), min(high, threshold)
    if low >= high:
        return 0.0
    if normal is None:
        return (high - low) / (2 * threshold)
    scale = normal * threshold * math.sqrt(2)
    return (math.erf(high / scale) - math.erf(low / scale)) / (2 * math.erf(threshold / scale))


def _integral(chance, threshold: float, normal: float | None, kinks: list[float]) -> float:  # type: ignore[no-untyped-def]
    """Of chance(w) over the other error w, cut where it has kinks."""
    if threshold == 0:
        return float(chance(0.0))
    if normal is not None:
        # Where a density is narrow, whoever looks at a few places of a wide piece would miss it.
        kinks = [*kinks, *(k * normal * threshold for k in (-9, -3, 0, 3, 9))]
    # A kink that is an end but for rounding would leave a piece too thin to integrate.
    unit = threshold * min(normal or 1.0, 1.0)
    inside = sorted({round(k / unit, 12) * unit for k in kinks if abs(k) < threshold * (1 - 1e-9)})
    cuts = [-threshold, *inside, threshold]
    return math.fsum(
        integrate.quad(
            lambda w: chance(w) * _density(w, threshold, normal), low, high, epsabs=1e-11, epsrel=1e-11, limit=200
        )[0]
        for low, high in itertools.pairwise(cuts)
    )


def chance_at(
    join: Join, a: Update, at_a: Fraction | int, b: Update, at_b: Fraction | int, normal: float | None = None
) -> float:
    """P that all terms hold at two given times. What is said of the same errors is integrated together."""
    assert not chained(join)
    result, left, right = 1.0, list(join.left), list(join.right)
    for ends in dict.fromkeys((term.left, term.right) for term in join.terms):
        x, y = value_of(a, ends[0], at_a), value_of(b, ends[1], at_b)
        assert x is not None
        assert y is not None
        sizes = a.thresholds[ends[0]], b.thresholds[ends[1]]
        same = [term for term in join.terms if (term.left, term.right) == ends]
        for term in same:
            if not _chancy(term):
                result *= chance_of(term, float(x - y), *sizes, normal)
        same = [term for term in same if _chancy(term)]
        if same:
            own = [[term for term in terms if term.left == end] for terms, end in zip((left, right), ends, strict=True)]
            result *= _chance_together(tuple(same), tuple(own[0]), tuple(own[1]), float(x), float(y), *sizes, normal)
            left, right = [t for t in left if t not in own[0]], [t for t in right if t not in own[1]]
    result *= chance_of_values(tuple(left), a, at_a, normal)
    return result * chance_of_values(tuple(right), b, at_b, normal)


def chance_of_values(terms: tuple[Term, ...], update: Update, at: Fraction | int, normal: float | None = None) -> float:
    """P that all terms hold of an object's values at a time."""
    result = 1.0
    for attribute in {term.left for term in terms}:
        x = value_of(update, attribute, at)
        assert x is not None
        own = tuple(term for term in terms if term.left == attribute)
        # There is no other side: its value is 0, and nothing is said of it.
        result *= _chance_together((), (), own, 0.0, float(x), 0.0, update.thresholds[attribute], normal)
    return result


def chance_of_three(
    first: Term, second: Term, more: tuple[Term, ...], items: list[Update], at: int, normal: float | None = None
) -> float:
    """P that at one time a and b, and b and c are near each other, and b's values satisfy `more`. Where both terms are
    about one value of b: over its error, what is left for a and for c."""
    a, b, c = items
    if first.right != second.left:
        of_b = tuple(term for term in more if term.left == first.right)
        rest = tuple(term for term in more if term.left != first.right)
        return chance_at(Join((first,), 0, (), of_b), a, at, b, at, normal) * chance_at(
            Join((second,), 0, rest, ()), b, at, c, at, normal
        )
    ends = (a, first.left, first.constant), (c, second.right, second.constant)
    middle = float(value_of(b, first.right, at) or 0)
    size = b.thresholds[first.right]
    own = tuple(term for term in more if term.left == first.right)
    sure = [term for term in own if size == 0 or not _chancy(term)]
    result = math.prod(chance_of(term, middle, size, None, normal) for term in sure)
    result *= chance_of_values(tuple(term for term in more if term not in own), b, at, normal)
    low, high = _bounds(tuple(term for term in own if term not in sure))
    edges = [low - middle, high - middle]
    for update, attribute, reach in ends:
        x, error = float(value_of(update, attribute, at) or 0), update.thresholds[attribute]
        places = (-1.0, 1.0) if normal is None else (-1.0, *(k * normal for k in (-9, -3, 0, 3, 9)), 1.0)
        edges += [x + k * error + sign * reach - middle for k in places for sign in (-1, 1)]

    def over_both(error: float) -> float:
        if not low <= middle + error <= high:
            return 0.0
        left = 1.0
        for update, attribute, reach in ends:
            x = float(value_of(update, attribute, at) or 0) - middle - error
            size_x = update.thresholds[attribute]
            if size_x > 0:
                left *= _integral_of_density(-reach - x, reach - x, size_x, normal)
            elif size > 0:
                left *= abs(x) <= reach
        return left

    return result * _integral(over_both, size, normal, edges)


def chained(join: Join) -> bool:
    """Whether more than two errors are at stake at once."""
    ends = {(term.left, term.right) for term in join.terms if _chancy(term)}
    return len({left for left, _ in ends}) < len(ends) or len({right for _, right in ends}) < len(ends)


def _chancy(term: Term) -> bool:
    return term.comparator not in ("=", "<>")


@lru_cache(maxsize=1 << 16)
def _chance_together(
    terms: tuple[Term, ...],
    left: tuple[Term, ...],
    right: tuple[Term, ...],
    x: float,
    y: float,
    size_x: float,
    size_y: float,
    normal: float | None,
) -> float:
    """P of terms on the distance of two values and of terms on each: over the error of y, what is left for x."""
    sure = [(x, left)] * (size_x == 0) + [(y, right)] * (size_y == 0)
    result = math.prod(chance_of(term, value, 0.0, None) for value, own in sure for term in own)
    uncertain = [own for own, size in ((left, size_x), (right, size_y)) if size > 0]
    result *= math.prod(chance_of(t, 0.0, 1.0, None) for own in uncertain for t in own if not _chancy(t))
    if not uncertain:
        return result * math.prod(chance_of(term, x - y, 0.0, 0.0) for term in terms)
    low_x, high_x = _bounds(left) if size_x > 0 else (-math.inf, math.inf)
    low_y, high_y = _bounds(right) if size_y > 0 else (-math.inf, math.inf)
    nearer, farther = _bounds(terms)

    def share(real: float, reach: float) -> float:
        low, high = max(low_x, real - reach), min(high_x, real + reach)
        if reach < 0 or low > high:
            return 0.0
        return float(low <= x <= high) if size_x == 0 else _integral_of_density(low - x, high - x, size_x, normal)

    def over_x(error: float) -> float:
        real = y + error
        return max(0.0, share(real, farther) - share(real, nearer)) if low_y <= real <= high_y else 0.0

    edges = (low_x, high_x, x - size_x, x + size_x)
    kinks = [low_y - y, high_y - y, *(e + s * k - y for e in edges for s in (-1, 1) for k in (nearer, farther))]
    return result * _integral(over_x, size_y, normal, kinks)


def _bounds(terms: tuple[Term, ...]) -> tuple[float, float]:
    """The greatest of the lower bounds and the least of the upper ones."""
    low = max((term.constant for term in terms if term.comparator in (">", ">=")), default=-math.inf)
    return low, min((term.constant for term in terms if term.comparator in ("<", "<=")), default=math.inf)
