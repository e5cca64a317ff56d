"""Movement on a campus, minute by minute: people with uncertain readings, and carts with predicted positions.

Everything is drawn from the seed. A badge reader hears a person with some chance, and sometimes the one in the next
room does: its rows are alternatives with a probability. A cart says where it is and how fast it drives when that
changes, and once in a while otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from presage.demo.campus_ontology import Campus, Room

Event = dict[str, Any]
PEOPLE, CARTS = 60, 30
WIDTH, HEIGHT, BLOCK = 1_600, 1_000, 100  # metres; roads lie a block apart
HEARTBEAT = 60.0  # seconds after which a cart is heard in any case
# How sure a reader is that a person is there, and that it is the next room; the rest is silence.
HEARD, BESIDE = 0.78, 0.14
# From where people go next, minute by minute.
GOES = {
    "office": ("corridor", 0.2),
    "corridor": ("meeting", 0.6),
    "meeting": ("way back", 0.15),
    "way back": ("office", 0.6),
}


@dataclass(frozen=True)
class Person:
    """Somebody with an office, a corridor before it and a room for meetings."""

    name: str
    office: str
    corridor: str
    meeting: str

    def room(self, place: str) -> str:
        return {"office": self.office, "meeting": self.meeting}.get(place, self.corridor)

    def beside(self, place: str) -> str:
        """The room whose reader may hear somebody there, too."""
        return self.corridor if place in ("office", "meeting") else self.office


def people_of(campus: Campus, count: int = PEOPLE) -> list[Person]:
    """People with offices, as many as there are buildings with all that they need."""
    found: list[Person] = []
    rooms: dict[str, list[Room]] = {}
    for room in campus.rooms:
        rooms.setdefault(room.building, []).append(room)
    for building, own in rooms.items():
        kinds = {kind: [r.name for r in own if r.kind == kind] for kind in ("PrivateOffice", "Corridor", "MeetingRoom")}
        if all(kinds.values()):
            for number, office in enumerate(kinds["PrivateOffice"][:3]):
                name = f"{building.lower()}{number + 1}"
                found.append(Person(name, office, kinds["Corridor"][0], kinds["MeetingRoom"][0]))
    return found[:count]


def walks(people: list[Person], start: datetime, seed: int) -> Iterator[list[Event]]:
    """For each minute, without end: where everybody may be."""
    random = Random(seed)
    places = dict.fromkeys(people, "office")
    minute = 0
    while True:
        at = start + timedelta(minutes=minute)
        rows: list[Event] = []
        for person in people:
            onward, chance = GOES[places[person]]
            if random.random() < chance:
                places[person] = onward
            sure = round(HEARD + 0.08 * random.random(), 3)
            for room, probability in (
                (person.room(places[person]), sure),
                (person.beside(places[person]), round(BESIDE * random.random(), 3)),
            ):
                rows.append({"person": person.name, "location": room, "probability": probability, "at": at})
        yield rows
        minute += 1


class Cart:
    """One that drives along the roads and turns at crossings, or not."""

    def __init__(self, number: int, random: Random) -> None:
        self.name = f"cart-{number:02}"
        self._random = random
        self._speed = round(3.0 + 4.0 * random.random(), 1)
        self._x = float(BLOCK * random.randint(0, WIDTH // BLOCK))
        self._y = float(BLOCK * random.randint(0, HEIGHT // BLOCK))
        self._way = (0, 0)
        self._time, self._told = 0.0, -HEARTBEAT

    def until(self, seconds: float) -> Iterator[tuple[float, Event]]:
        """What it tells up to then, with the time since the start."""
        while self._time < seconds:
            before, self._way = self._way, self._turn()
            if self._way != before or self._time - self._told >= HEARTBEAT:
                self._told = self._time
                rates = {"x_rate": self._way[0] * self._speed, "y_rate": self._way[1] * self._speed}
                yield self._time, {"cart": self.name, "x_value": self._x, "y_value": self._y, **rates}
            self._x += self._way[0] * BLOCK
            self._y += self._way[1] * BLOCK
            self._time += BLOCK / self._speed

    def _turn(self) -> tuple[int, int]:
        """Straight on as a rule, never back, and not off the campus."""
        ways = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        inside = [
            (dx, dy)
            for dx, dy in ways
            if 0 <= self._x + dx * BLOCK <= WIDTH and 0 <= self._y + dy * BLOCK <= HEIGHT and (-dx, -dy) != self._way
        ]
        if self._way in inside and self._random.random() < 0.6:
            return self._way
        return self._random.choice(inside)


def drives(start: datetime, seed: int, count: int = CARTS) -> Iterator[list[Event]]:
    """For each minute, without end: what the carts tell, in the order of time."""
    carts = [Cart(number, Random(seed * 1_000 + number)) for number in range(1, count + 1)]
    minute = 0
    while True:
        minute += 1
        told = [each for cart in carts for each in cart.until(60.0 * minute)]
        yield [
            {**event, "at": start + timedelta(milliseconds=int(1_000 * t))}
            for t, event in sorted(told, key=lambda e: e[0])
        ]
