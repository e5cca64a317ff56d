"""Two placed segments, one later than the other, come in; the times at which they match go out. Called from loops."""

from __future__ import annotations

from presage.arrays.jit import Floats, Ints, inlined
from presage.prediction.kernel.factors import ABOVE, BEYOND, KIND, LIMIT, NARROW, SIDE, TERM, WIDE, WITHIN, Z0, ZT, ZU
from presage.prediction.kernel.regions import TERMS, add_strip, start_half
from presage.prediction.kernel.solutions import GE, GT, LE, LT
from presage.prediction.kernel.trimming import GIVEN, PARTS, trim


@inlined
def set_functions(lines: Floats, offset: float, functions: Floats) -> None:
    """Value at the origin and rate, of each term. `offset`: the start of the piece, seconds from the origin."""
    for k in range(len(lines)):
        functions[k, 0] = lines[k, 0] - lines[k, 1] * offset
        functions[k, 1] = lines[k, 1]


@inlined
def set_factors(
    terms: Ints, constants: Floats, left: Floats, right: Floats, margins_a: Floats, margins_b: Floats, factors: Floats
) -> int:
    """What of the factors is the same for both halves: first those of terms, then of a's margins, then of b's. How many
    there are. Sure values have no factor: where they are allowed they satisfy."""
    number = 0
    for k in range(len(terms)):
        slack = left[k, 2] + right[k, 2]
        comparator = terms[k, 2]
        less, greater = comparator == LE or comparator == LT, comparator == GT or comparator == GE
        if slack > 0.0 and (less or (greater and constants[k] >= 0.0)):
            factors[number, KIND] = WITHIN if less else BEYOND
            factors[number, LIMIT] = constants[k]
            factors[number, WIDE] = max(left[k, 2], right[k, 2])
            factors[number, NARROW] = min(left[k, 2], right[k, 2])
            factors[number, TERM] = k
            number += 1
    number = add_margins(margins_a, 0, factors, number)
    return add_margins(margins_b, len(margins_a), factors, number)


@inlined
def add_margins(margins: Floats, shift: int, factors: Floats, number: int) -> int:
    """A factor for each value term over a value that is not sure; `shift`: how many margins come before these."""
    for i in range(len(margins)):
        if margins[i, 2] > 0.0:
            factors[number, KIND] = ABOVE
            factors[number, LIMIT] = 0.0
            factors[number, WIDE] = margins[i, 2]
            factors[number, NARROW] = 0.0
            factors[number, TERM] = i + shift
            number += 1
    return number


@inlined
def _aim_factors(
    functions: Floats,
    margins_a: Floats,
    margins_b: Floats,
    offsets: Floats,
    half: int,
    chosen: Floats,
    factors: Floats,
    number: int,
) -> int:
    """Set how z depends on t (the later time) and u. Into how many parts times must be cut for one peak in each."""
    parts = 1
    later, earlier = functions[half], functions[1 - half]
    for i in range(number):
        k = int(factors[i, TERM])
        if factors[i, KIND] != ABOVE:
            factors[i, Z0] = later[k, 0] - earlier[k, 0]
            factors[i, ZT] = later[k, 1]
            factors[i, ZU] = -earlier[k, 1]
            positive = chosen[k, 0] >= 0.0
            factors[i, SIDE] = 1.0 if positive else -1.0
            farthest = chosen[k, 1] if positive else -chosen[k, 0]
            if factors[i, KIND] == BEYOND and farthest <= factors[i, WIDE] + factors[i, NARROW] - factors[i, LIMIT]:
                parts = PARTS
            continue
        of_b = k >= len(margins_a)
        margin = margins_b[k - len(margins_a)] if of_b else margins_a[k]
        is_later = of_b == (half == 1)
        factors[i, Z0] = margin[0] - margin[1] * offsets[1 if of_b else 0]
        factors[i, ZT] = margin[1] if is_later else 0.0
        factors[i, ZU] = 0.0 if is_later else margin[1]
    return parts if number > 1 else 1


@inlined
def match_half(
    segments: Floats,
    functions: Floats,
    margins_a: Floats,
    margins_b: Floats,
    offsets: Floats,
    half: int,
    window: float,
    times: Floats,
    chosen: Floats,
    factors: Floats,
    number: int,
    lines: Floats,
    ends: Floats,
    wanted: Floats,
    can_be_sure: bool,
    sure: Floats,
    p: float,
    strict: bool,
    asked: bool,
    model: int,
    sigma: float,
    found: Floats,
) -> int:
    """How many intervals were written to `found`. `half`: 0 where a is the later one, 1 where b is."""
    count = start_half(lines[GIVEN], ends[GIVEN], segments[half], segments[1 - half], window, times)
    for k in range(len(chosen)):
        count = add_strip(
            lines[GIVEN], count, ends[GIVEN], functions[half, k], functions[1 - half, k], chosen[k], TERMS + k
        )
    if count < 0:
        return 0
    parts = _aim_factors(functions, margins_a, margins_b, offsets, half, chosen, factors, number)
    return trim(
        lines, count, ends, factors, number, len(chosen), parts, wanted, can_be_sure, sure, p, strict, asked,
        model, sigma, found,
    )  # fmt: skip
