"""A building and a seed in, people out: where each is at each second, what the antennas read, who had coffee when.

People have an office, stay there for a while, walk somewhere, mostly to the coffee room, stay there and walk back. They
know where they go, and choose what is near: nothing of that is in the model of `building.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from building import Building

from presage.operators.sequence.kernel.hidden_markov.spec import TIME

SECOND = 1_000_000
BEGIN = 1_704_096_000 * SECOND  # 2024-01-01T08:00:00Z
# Where a walk leads, with the chance of it.
ERRANDS = (("coffee", 0.5), ("office", 0.2), ("lecture", 0.1), ("stroll", 0.2))
AWAY = {"coffee": (4, 90), "office": (10, 90), "lecture": (60, 240), "stroll": (1, 2)}
AT_DESK = (30, 180)
PACE = (1, 4)  # seconds in a segment of the hallway, the end excluded
ON_STAIRS = (5, 10)
RATES = (0.6, 0.7)  # what an antenna reads of the tags in its range; each has its own rate


@dataclass(frozen=True)
class Traces:
    """`truth[person]`: the place at each second. `readings`: TIME, person, antenna. `coffees[person]`: the seconds at
    which a person came into a coffee room after two seconds outside."""

    truth: dict[str, list[str]]
    readings: pa.Table
    coffees: dict[str, list[int]]

    @property
    def people(self) -> list[str]:
        return list(self.truth)

    @property
    def seconds(self) -> int:
        return len(next(iter(self.truth.values())))


def simulate(building: Building, people: int, seconds: int, seed: int) -> Traces:
    random = np.random.default_rng(seed)
    offices = building.of_kind("office")
    homes = random.permutation(offices)
    truth = {
        f"p{i:03d}": _day(building, str(homes[i % len(homes)]), seconds, np.random.default_rng((seed, 1, i)))
        for i in range(people)
    }
    return traced(building, truth, seed)


def traced(building: Building, truth: dict[str, list[str]], seed: int) -> Traces:
    """People whose ways are given, with the readings of their tags."""
    readings = _readings(building, truth, np.random.default_rng((seed, 2)))
    coffee = set(building.of_kind("coffee"))
    return Traces(truth, readings, {person: entrances(places, coffee) for person, places in truth.items()})


def entrances(places: list[str], rooms: set[str]) -> list[int]:
    inside = [place in rooms for place in places]
    return [t for t in range(2, len(inside)) if inside[t] and not inside[t - 1] and not inside[t - 2]]


def _day(building: Building, office: str, seconds: int, random: np.random.Generator) -> list[str]:
    places: list[str] = []

    def stay(place: str, least: int, most: int) -> None:
        places.extend([place] * int(random.integers(least, most)))

    def walk(goal: str) -> None:
        *way, last = building.route(places[-1], goal)
        for place in way:
            stay(place, *(ON_STAIRS if building.kind[place] == "stairs" else PACE))
        places.append(last)

    stay(office, *AT_DESK)
    while len(places) < seconds:
        names, chances = zip(*ERRANDS, strict=True)
        errand = str(random.choice(names, p=chances))
        walk(_goal(building, errand, office, random))
        stay(places[-1], *AWAY[errand])
        walk(office)
        stay(office, *AT_DESK)
    return places[:seconds]


def _goal(building: Building, errand: str, office: str, random: np.random.Generator) -> str:
    if errand == "coffee":  # the nearest one
        return min(building.of_kind("coffee"), key=lambda room: len(building.route(office, room)))
    goals = [place for place in building.of_kind("hall" if errand == "stroll" else errand) if place != office]
    return str(random.choice(goals))


def _readings(building: Building, truth: dict[str, list[str]], random: np.random.Generator) -> pa.Table:
    """Each antenna reads by itself. A tag has an empty reading at its first and at its last second: it was there."""
    antennas = sorted({antenna for read in building.read.values() for antenna in read})
    best = {antenna: max(read.get(antenna, 0.0) for read in building.read.values()) for antenna in antennas}
    own = {antenna: random.uniform(*RATES) for antenna in antennas}
    rates = np.array(
        [[building.read[place].get(a, 0.0) * own[a] / best[a] for a in antennas] for place in building.places]
    )
    number = {place: i for i, place in enumerate(building.places)}
    times, persons, read_by = [], [], []
    for person, places in truth.items():
        chances = rates[[number[place] for place in places]]
        seconds, heard = np.nonzero(random.random(chances.shape) < chances)
        times += [0, len(places) - 1, *seconds.tolist()]
        read_by += [None, None, *(antennas[a] for a in heard)]
        persons += [person] * (len(seconds) + 2)
    order = np.argsort(times, kind="stable")
    table = pa.table(
        {
            TIME: BEGIN + np.array(times, np.int64) * SECOND,
            "person": persons,
            "antenna": pa.array(read_by, pa.string()),
        }
    )
    return table.take(pa.array(order))
