"""The chance that the real values satisfy a term, given predicted values and thresholds."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, compiled
from presage.operators.prediction.kernel.chances.normal_errors import normal_density, normal_survival
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.regions.solutions import EQ, GE, GT, LE, LT, NE
from presage.operators.prediction.kernel.spec import Comparator, ErrorModel, Errors

NORMAL = int(ErrorModel.NORMAL)
# Kinds of chances, see `chance_of`.
WITHIN, BEYOND, ABOVE = 0.0, 1.0, 2.0


@bare
def uniform_survival(x: float, wide: float, narrow: float) -> tuple[float, float]:
    """P(e > x) for x >= 0, and the density of e at x; `wide` > 0 is the greater threshold, `narrow` >= 0 the other.

    The difference of independent errors in ± a and ± b has a trapezoid for a density. The paper (section 5.2) lists
    fifteen ranges of K; with the survival function there are three, and nothing cancels when one threshold is tiny.
    """
    if x >= wide + narrow:
        return 0.0, 0.0
    if x > wide - narrow:
        rest = wide + narrow - x
        share = (rest / (2.0 * narrow)) / (2.0 * wide)
        return 0.5 * rest * share, share
    return 0.5 - x / (2.0 * wide), 0.5 / wide


@bare
def survival(x: float, wide: float, narrow: float, errors: Errors) -> tuple[float, float]:
    """P(e > x) of the difference e of two errors, which is symmetric about 0, and its density there. `wide` > 0."""
    far = abs(x)
    if errors.model == NORMAL:
        chance = normal_survival(far, wide, narrow, errors.sigma)
        density = normal_density(far, wide, narrow, errors.sigma)
    else:
        chance, density = uniform_survival(far, wide, narrow)
    return chance if x >= 0.0 else 1.0 - chance, density


@bare
def chance_of(kind: float, z: float, limit: float, wide: float, narrow: float, errors: Errors) -> tuple[float, float]:
    """WITHIN: P(|z + e| <= limit). BEYOND: P(|z + e| > limit). ABOVE: P(z + e > 0). And how it changes with z. `wide` >
    0, `limit` >= 0.

    One call for both tails, in a loop: the compiler copies the large survival function to every call.
    """
    far = abs(z)
    total, slope = 0.0, 0.0
    for tail in range(1 if kind == ABOVE else 2):
        x = far + limit
        if kind == ABOVE:
            x = -z
        elif tail == 0:
            x = far - limit if kind == WITHIN else limit - far
        chance, density = survival(x, wide, narrow, errors)
        total += -chance if tail == 1 and kind == WITHIN else chance
        # The first tail of WITHIN and the second of BEYOND shrink as z goes away from 0.
        slope += density if (tail == 1) == (kind == WITHIN) else -density
    if kind != ABOVE and z < 0.0:
        slope = -slope
    return min(1.0, max(0.0, total)), slope


@bare
def holds(x: float, comparator: int, constant: float) -> bool:
    """x ⊙ constant."""
    if comparator == LE:
        return x <= constant
    if comparator == LT:
        return x < constant
    if comparator == GT:
        return x > constant
    if comparator == GE:
        return x >= constant
    return (x == constant) == (comparator == EQ)


@bare
def chance(
    x: float, comparator: int, constant: float, wide: float, narrow: float, distance: bool, errors: Errors
) -> float:
    """P(|x + e| ⊙ constant), or P(x + e ⊙ constant) unless `distance`."""
    if wide == 0.0:
        return 1.0 if holds(abs(x) if distance else x, comparator, constant) else 0.0
    if comparator in (EQ, NE):
        return 1.0 if comparator == NE else 0.0
    less = comparator in (LE, LT)
    if distance and constant < 0.0:
        return 0.0 if less else 1.0
    kind, z = (WITHIN if less else BEYOND) if distance else ABOVE, x
    if not distance:
        z = constant - x if less else x - constant
    return chance_of(kind, z, constant, wide, narrow, errors)[0]


@compiled
def chances(
    x: Floats, left: Floats, right: Floats, comparator: int, constant: float, distance: bool, errors: Errors
) -> Floats:
    """Row by row: difference or value x, threshold of each side (the right one 0 for a value)."""
    result = np.empty(len(x))
    for i in range(len(x)):
        wide, narrow = max(left[i], right[i]), min(left[i], right[i])
        result[i] = chance(x[i], comparator, constant, wide, narrow, distance, errors)
    return result


def distance_chances(
    z: Floats, left: Floats, right: Floats, comparator: Comparator, constant: float, errors: Errors
) -> Floats:
    """Of |z + e_left − e_right| ⊙ constant, e.g. z = 400, thresholds of 25 and 25, <= 400: 0.5."""
    return chances(z, left, right, int(comparator), float(constant), True, errors.for_loops())


def value_chances(x: Floats, threshold: Floats, comparator: Comparator, constant: float, errors: Errors) -> Floats:
    """Of x + e ⊙ constant."""
    return chances(x, threshold, np.zeros(len(x)), int(comparator), float(constant), False, errors.for_loops())
