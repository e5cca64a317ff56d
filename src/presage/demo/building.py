"""The events of the smart building: twenty minutes of cameras and thermometers, always the same ones.

The event types are those of the paper's running example: CE{camera}, MN{camera, xCoor, yCoor}, E{camera, log},
SM{sensor}, TR{therm, temp, humid}; devices are called by the room they hang in. Room R4 holds servers: at 09:08 its
cooling fails, it warms up, its camera begins to fail, somebody comes to look, and at 09:16 smoke is sensed.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

Event = dict[str, Any]

START = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
MINUTES = 20
ROOMS = ("R1", "R2", "R3", "R4", "R5", "R6")
SERVERS = "R4"
FAILURE, SMOKE = 8 * 60, 16 * 60
# Steps per minute of the people in each room; nobody is among the servers until something is wrong.
STEPS = {"R1": 2.5, "R2": 1.0, "R3": 1.5, "R4": 0.0, "R5": 0.5, "R6": 1.0}
LOGS = ("500", "503", "lens dirty", "frame dropped")
STATEMENTS = ("building.epl", "queries.epl")


def make_events(seed: int = 4) -> dict[str, list[Event]]:
    """The events of each stream in the order of their time."""
    random = Random(seed)
    return {
        "Temperature": _temperatures(random),
        "Motion": _motions(random),
        "Fault": _faults(random),
        "Smoke": [{"sensor": SERVERS, "at": _time(second)} for second in (SMOKE, SMOKE + 45, SMOKE + 90)],
    }


def statements(name: str) -> str:
    """The text of one of the files of statements."""
    return files("presage.demo").joinpath("data", "building", name).read_text(encoding="utf-8")


def write_files(folder: Path) -> list[Path]:
    """The example as files: statements, and JSON lines for each stream."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in STATEMENTS:
        written.append(folder / name)
        written[-1].write_text(statements(name), encoding="utf-8")
    for stream, events in make_events().items():
        written.append(folder / f"{stream.lower()}.jsonl")
        written[-1].write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return written


def _temperatures(random: Random) -> list[Event]:
    events = []
    for second in range(0, MINUTES * 60, 30):
        for number, room in enumerate(ROOMS):
            temp = 20.5 + 0.4 * number + 0.6 * math.sin(second / 200 + number) + 0.4 * random.random()
            humid = 41.0 + 2 * number + 3 * random.random()
            if room == SERVERS and second > FAILURE:
                warm = (second - FAILURE) / 60
                temp, humid = temp + 1.1 * warm, humid - 0.9 * warm
            at = _time(second + number)
            events.append({"therm": room, "temp": round(temp, 1), "humid": round(humid, 1), "at": at})
    return events


def _motions(random: Random) -> list[Event]:
    events: list[tuple[float, Event]] = []
    for room in ROOMS:
        second, x, y = 0.0, 3.0, 2.0
        while True:
            rate = STEPS[room]
            if room == SERVERS:
                rate = 3.0 if second > FAILURE + 120 else 0.0
            # Waiting times of a Poisson process; an empty room is looked at again a minute later.
            second += -math.log(1 - random.random()) * 60 / rate if rate else 60
            if second >= MINUTES * 60:
                break
            x = min(8.0, max(0.0, x + 2 * random.random() - 1))
            y = min(6.0, max(0.0, y + 2 * random.random() - 1))
            if rate:
                event = {"camera": room, "xCoor": round(x, 1), "yCoor": round(y, 1), "at": _time(second)}
                events.append((second, event))
    return [event for _, event in sorted(events, key=lambda each: each[0])]


def _faults(random: Random) -> list[Event]:
    seconds = [(130, "R2"), (395, "R6"), *((second, SERVERS) for second in range(FAILURE + 90, MINUTES * 60, 70))]
    return [{"camera": room, "log": LOGS[int(len(LOGS) * random.random())], "at": _time(s)} for s, room in seconds]


def _time(second: float) -> str:
    at = START + timedelta(seconds=round(second, 1))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z").replace(".000Z", "Z")
