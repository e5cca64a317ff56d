"""A window join over moving objects: the kernel against a plain evaluation of all pairs, and its growth.

The study of Ilarri et al. (Table 1): objects at 26.8 m/s on 10 km², which turn by chance every 10 seconds, are sampled
every 3 seconds and report when they are 25 m off their prediction, at least every 30 seconds; 180 seconds; pairs within
400 m in x and in y, window 3 seconds. The walk is a simple one: reflected at the border, each object has its own phase.

The plain evaluations look at every pair of pieces: one with the kernel's own compiled evaluation step and no index, one
in plain Python, which clips polygons (a sample, scaled). Growth is at the density of 1,000 objects on 10 km², over
30 seconds. Processor time of one thread. Run as: python benchmarks/prediction_join.py [objects]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from presage.operators.prediction.kernel.join import Matches, build_sides, evaluate_pairs, join
from presage.operators.prediction.kernel.pieces import Pieces, build_pieces
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.spec import AtLeast, Comparator, ErrorModel, Errors, JoinSpec, JoinTerm
from presage.operators.prediction.kernel.warm import warm

SECOND = 1_000_000
SPEED, SAMPLING, TURN, CHANCE, THRESHOLD, PERIOD = 26.8, 3.0, 10.0, 0.5, 25.0, 30.0
DENSITY = 1_000 / 10e6
ASKED = JoinSpec((JoinTerm(0, 0, Comparator.LE, 400.0), JoinTerm(1, 1, Comparator.LE, 400.0)), 3 * SECOND, same=True)
NORMAL = Errors(ErrorModel.NORMAL)
RUNS = 3


def headings(random: np.random.Generator, count: int) -> np.ndarray:
    angle = random.uniform(0, 2 * np.pi, count)
    return SPEED * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def make_trace(objects: int, seconds: float) -> Pieces:
    """Samples of all objects, and the updates that they send."""
    random = np.random.default_rng(7)
    side = np.sqrt(objects / DENSITY)
    place, speed = random.uniform(0, side, (objects, 2)), headings(random, objects)
    now, turn = np.zeros(objects), random.uniform(0, TURN, objects)
    sample = random.uniform(0, SAMPLING, objects)
    sent_at = np.full(objects, -np.inf)
    sent_place, sent_speed = np.zeros((objects, 2)), np.zeros((objects, 2))
    parts: list[tuple[np.ndarray, ...]] = []
    while sample.min() < seconds:
        # At most one turn between two samples.
        turns = turn <= sample
        until = np.where(turns, turn, sample)
        place = place + speed * (until - now)[:, None]
        changes = turns & (random.random(objects) < CHANCE)
        speed = np.where(changes[:, None], headings(random, objects), speed)
        turn = np.where(turns, turn + TURN, turn)
        place = place + speed * (sample - until)[:, None]
        outside = (place < 0) | (place > side)
        speed, place, now = np.where(outside, -speed, speed), np.clip(place, 0, side), sample
        first = np.isinf(sent_at)
        off = np.hypot(*(place - sent_place - sent_speed * np.where(first, 0, now - sent_at)[:, None]).T)
        sends = np.flatnonzero(first | (off > THRESHOLD) | (now - sent_at > PERIOD - SAMPLING))
        parts.append((sends, (now[sends] * SECOND).astype(np.int64), place[sends], speed[sends]))
        sent_at[sends], sent_place[sends], sent_speed[sends] = now[sends], place[sends], speed[sends]
        sample = sample + SAMPLING
    key, at, value, rate = (np.concatenate(column) for column in zip(*parts, strict=True))
    return build_pieces(key, at, value, rate, np.full(value.shape, THRESHOLD), int(PERIOD * SECOND))


def all_pairs(pieces: Pieces) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every two pieces of different objects, in blocks."""
    first = np.searchsorted(pieces.key, pieces.key, side="right")
    for begin in range(0, len(pieces), 100):
        rows = range(begin, min(begin + 100, len(pieces)))
        others = [np.arange(first[row], len(pieces)) for row in rows]
        yield np.repeat(np.array(rows), [len(other) for other in others]), np.concatenate(others)


def plainly(pieces: Pieces) -> int:
    """The kernel's own evaluation of every two pieces."""
    sides = build_sides(pieces, pieces, ASKED)
    return sum(len(found.whole) for found in evaluate_pairs(sides, ASKED, Times(), all_pairs(pieces)))


def clip(corners: list[tuple[float, float]], p: float, q: float, c: float) -> list[tuple[float, float]]:
    kept = []
    for (x, y), (v, w) in zip(corners, corners[1:] + corners[:1], strict=True):
        here, there = p * x + q * y - c, p * v + q * w - c
        if here <= 0:
            kept.append((x, y))
        if here * there < 0:
            share = here / (here - there)
            kept.append((x + share * (v - x), y + share * (w - y)))
    return kept


def in_python(pieces: Pieces, a: np.ndarray, b: np.ndarray) -> int:
    """The system of inequalities of two pieces, by clipping its polygon."""
    starts, ends = (pieces.start / SECOND).tolist(), (pieces.end / SECOND).tolist()
    values, rates = pieces.value.tolist(), pieces.rate.tolist()
    matches = 0
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        if starts[i] - 3 > ends[j] or starts[j] - 3 > ends[i]:
            continue
        left, right, low, high = starts[i], ends[i], starts[j], ends[j]
        corners = clip([(left, low), (right, low), (right, high), (left, high)], 1, -1, 3)
        corners = clip(corners, -1, 1, 3)
        for k in range(2):
            p, q = rates[i][k], -rates[j][k]
            apart = values[i][k] - p * starts[i] - values[j][k] - q * starts[j]
            corners = clip(clip(corners, p, q, 400 - apart), -p, -q, 400 + apart)
        matches += bool(corners)
    return matches


def cost(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of processor time, the least."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def compare(objects: int) -> None:
    pieces = make_trace(objects, 180)
    print(f"{objects:,} objects, 180 seconds, {len(pieces):,} updates")
    found: list[Matches] = []
    kernel = cost(lambda: found.append(join(pieces, pieces, ASKED)))
    print(f"  the join             {kernel:8.2f} s   {len(found[0]):,} rows")
    for name, spec in (
        ("with probability", JoinSpec(ASKED.terms, ASKED.window, same=True, probability=True)),
        ("probability >= 0.8", JoinSpec(ASKED.terms, ASKED.window, same=True, at_least=AtLeast(0.8))),
        ("of normal errors", JoinSpec(ASKED.terms, ASKED.window, same=True, errors=NORMAL, probability=True)),
    ):
        spent = cost(lambda spec=spec: join(pieces, pieces, spec))
        print(f"  {name:20} {spent:8.2f} s   {spent / kernel:.1f} times the join")
    plain = cost(lambda: plainly(pieces), 1)
    print(f"  all pairs, compiled  {plain:8.2f} s   {plain / kernel:.1f} times the join")
    random = np.random.default_rng(3)
    one, other = random.integers(0, len(pieces), (2, 200_000))
    spent = cost(lambda: in_python(pieces, one, other), 1)
    total = spent / len(one) * len(pieces) * (len(pieces) - 1) / 2
    print(
        f"  all pairs, Python    {total:8.2f} s   {total / kernel:.0f} times the join (of {len(one):,} pairs, scaled)"
    )


def grow(most: int) -> None:
    print("growth at constant density, 30 seconds")
    objects = 100
    while objects <= most:
        pieces = make_trace(objects, 30)
        rows: list[int] = []
        spent = cost(lambda pieces=pieces, rows=rows: rows.append(len(join(pieces, pieces, ASKED))), 1)
        print(f"  {objects:7,} objects {spent:8.2f} s   {spent / objects * 1e6:7.1f} µs per object   {rows[0]:,} rows")
        objects *= 10


if __name__ == "__main__":
    warm()
    compare(1_000)
    grow(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
