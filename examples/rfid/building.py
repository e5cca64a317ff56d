"""A building of two floors: its graph, what antennas read where, and the hidden Markov model that is made from both.

Each floor is a hallway of eight segments with a door on either side of each. Antennas hang in the hallway alone, one to
two segments: four rooms lie behind the segments that it covers, and no reading tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FLOORS, SEGMENTS = 2, 8
STAIRS = "stairs"
COFFEE_ROOMS = ("r15n", "r24s")
LECTURE_ROOM = "r17s"

# What an antenna reads of a tag in a second, by where the tag is.
IN_RANGE = 0.65
BESIDE_RANGE = 0.06  # one segment farther: that is how two antennas come to report one tag
THROUGH_A_WALL = 0.02  # of the hallway before the room

# How people move in a second, as the model believes. It knows no destinations, only places.
STAY = {"hall": 0.5, "office": 0.985, "coffee": 0.97, "lecture": 0.985, "stairs": 0.85}
PULL = {"hall": 1.0, "office": 0.1, "coffee": 0.4, "lecture": 0.15, "stairs": 0.5}


@dataclass(frozen=True)
class Building:
    """`kind` of each place, the places next to it, and what each antenna may read there."""

    kind: dict[str, str]
    ways: dict[str, tuple[str, ...]]
    read: dict[str, dict[str, float]]

    @property
    def places(self) -> list[str]:
        return list(self.kind)

    def of_kind(self, kind: str) -> list[str]:
        return [place for place, found in self.kind.items() if found == kind]

    def route(self, start: str, goal: str) -> list[str]:
        """A shortest way, without its start."""
        before = {start: start}
        reached = [start]
        for place in reached:  # which grows meanwhile
            fresh = [other for other in self.ways[place] if other not in before]
            before |= dict.fromkeys(fresh, place)
            reached += fresh
        way = [goal]
        while way[-1] != start:
            way.append(before[way[-1]])
        return way[-2::-1]

    def model(self) -> dict[str, Any]:
        """The content of a model file: `CREATE MODEL floor FROM 'floor.json'`."""
        return {
            "states": self.places,
            "transition": {place: self._moves(place) for place in self.places},
            "emission": {"kind": "discrete", "table": self.read, "absent": "evidence"},
            "step": "1 sec",
        }

    def _moves(self, place: str) -> dict[str, float]:
        stay = STAY[self.kind[place]]
        pull = {other: PULL[self.kind[other]] for other in self.ways[place]}
        total = sum(pull.values())
        return {place: stay} | {other: (1.0 - stay) * weight / total for other, weight in pull.items()}


def two_floors(spacing: int = 2) -> Building:
    """`spacing`: segments to an antenna."""
    kind: dict[str, str] = {STAIRS: "stairs"}
    ways: dict[str, list[str]] = {STAIRS: []}
    read: dict[str, dict[str, float]] = {STAIRS: {}}

    def join(a: str, b: str) -> None:
        ways.setdefault(a, []).append(b)
        ways.setdefault(b, []).append(a)

    for floor in range(1, FLOORS + 1):
        for segment in range(1, SEGMENTS + 1):
            hall = f"h{floor}{segment}"
            kind[hall] = "hall"
            read[hall] = _in_the_hall(floor, segment, spacing)
            join(hall, STAIRS if segment == 1 else f"h{floor}{segment - 1}")
            for side in "ns":
                room = f"r{floor}{segment}{side}"
                kind[room] = "coffee" if room in COFFEE_ROOMS else "lecture" if room == LECTURE_ROOM else "office"
                read[room] = {_antenna(floor, segment, spacing): THROUGH_A_WALL}
                join(hall, room)
    return Building(kind, {place: tuple(others) for place, others in ways.items()}, read)


def _antenna(floor: int, segment: int, spacing: int) -> str:
    return f"a{floor}{(segment - 1) // spacing + 1}"


def _in_the_hall(floor: int, segment: int, spacing: int) -> dict[str, float]:
    own = _antenna(floor, segment, spacing)
    near = {_antenna(floor, other, spacing) for other in (segment - 1, segment + 1) if 1 <= other <= SEGMENTS}
    return {own: IN_RANGE} | dict.fromkeys(sorted(near - {own}), BESIDE_RANGE)
