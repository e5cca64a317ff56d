"""A campus that goes on: files that its statements name, a day of history, and then minute after minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.demo.campus_events import CONTEXTS, GENERATORS, MINUTE, START
from presage.demo.campus_movement import drives, people_of, walks
from presage.demo.campus_ontology import BUILDINGS, SEED, SENSORS, Campus, make_campus, read, vocabulary, write_turtle

NOW = START + timedelta(days=1)
# How often a sensor reports: in the day before, and now.
PAST_MINUTES, LIVE_MINUTES = 60, 5
DAY_MINUTES = 24 * 60
DECLARATIONS, STATEMENTS = "campus.epl", "live.epl"
WALKS, DRIVES = "Whereabouts", "Cart"


class LiveCampus:
    """`buildings` follow from the sensors, as many of them each as on the whole campus."""

    def __init__(self, sensors: int = SENSORS, seed: int = SEED) -> None:
        self._seed = seed
        self.campus: Campus = make_campus(max(2, BUILDINGS * sensors // SENSORS), sensors, seed)
        self.people = people_of(self.campus)

    def write(self, folder: Path) -> None:
        """The files that the declarations and statements name."""
        texts = {name: read(name) for name in (*CONTEXTS, DECLARATIONS, STATEMENTS)}
        texts |= {"vocabulary.ttl": vocabulary(), "campus.ttl": write_turtle(self.campus)}
        corridors, meetings = ({p.corridor for p in self.people}, {p.meeting for p in self.people})
        texts["offices.csv"] = "person,location\n" + "".join(f"{p.name},{p.office}\n" for p in self.people)
        texts["corridors.csv"] = "location\n" + "".join(f"{room}\n" for room in sorted(corridors))
        texts["meetings.csv"] = "location\n" + "".join(f"{room}\n" for room in sorted(meetings))
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    def history(self) -> Iterator[tuple[str, pa.Table]]:
        """The day before, stream by stream."""
        for stream, generate in GENERATORS.items():
            values = self.campus.values(stream)
            if values:
                count = DAY_MINUTES * len(values) // PAST_MINUTES
                interval = PAST_MINUTES * MINUTE / len(values)
                yield stream, generate(count, values, START, self._seed, interval=interval)

    def minutes(self) -> Iterator[dict[str, Any]]:
        """What comes from now on, minute by minute, by stream."""
        people, carts = walks(self.people, NOW, self._seed), drives(NOW, self._seed)
        number = 0
        while True:
            found: dict[str, Any] = {}
            for stream, generate in GENERATORS.items():
                values = self.campus.values(stream)
                first, after = (-(-n * len(values) // LIVE_MINUTES) for n in (number, number + 1))
                if after > first:
                    interval = LIVE_MINUTES * MINUTE / len(values)
                    found[stream] = generate(after - first, values, NOW, self._seed, offset=first, interval=interval)
            found[WALKS], found[DRIVES] = next(people), next(carts)
            yield found
            number += 1
