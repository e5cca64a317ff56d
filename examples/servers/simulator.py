"""A seed in, a month of machine metrics out: load by the hour of day, processes, logins, and incidents with a cause.

Every incident has one of four causes. Each leaves its own traces around it: processes that run, users that log in, how
much memory is left. Nothing in the events names the cause; who wants to know it looks for incidents that were alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = timedelta(minutes=5)
PER_HOUR, PER_DAY = 12, 288  # steps
PROCESSES = ("nginx", "postgres", "cron", "sshd", "node", "redis")
USERS = ("ana", "ben", "chi", "dana", "eli")


@dataclass(frozen=True)
class Cause:
    """What an incident leaves behind: processes, users, and the share of memory that is free, on average. `hour`: at
    which it comes, if not at any."""

    name: str
    processes: tuple[str, ...]
    users: tuple[str, ...]
    free: float
    hour: int | None = None


CAUSES = (
    Cause("backup", ("rsync", "gzip"), ("backup",), 40.0, 2),
    Cause("memory leak in the shop", ("shop", "shop-worker"), (), 3.0),
    Cause("coin mining by a guest", ("xmrig",), ("guest",), 35.0),
    Cause("reindexing", ("postgres", "vacuumdb"), ("dba",), 15.0, 13),
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Month:
    """Events by stream, and the cause of each incident by server and time."""

    events: dict[str, list[Row]]
    causes: dict[tuple[str, datetime], str]


def simulate(seed: int = 1, servers: int = 8, days: int = 28, incidents: int = 60) -> Month:
    random = np.random.default_rng(seed)
    names = [f"web-{number}" for number in range(servers)]
    steps = int(timedelta(days=days) / EVERY)
    events: dict[str, list[Row]] = {"Load": [], "Running": [], "Login": [], "Incident": []}
    causes: dict[tuple[str, datetime], str] = {}
    struck = _incidents(random, servers, steps, incidents)
    for step in range(steps):
        at = BEGIN + step * EVERY
        # Busy by day, quiet by night.
        usual = 35 + 20 * np.sin(2 * np.pi * (at.hour - 8) / 24)
        for number, name in enumerate(names):
            cause = struck.get((step, number))
            cpu = float(np.clip(usual + random.normal(0, 6) + (0 if cause is None else 45), 0, 100))
            events["Load"].append({"server": name, "cpu": cpu, "at": at})
            if cause is not None:
                causes[name, at] = cause.name
                _leave_traces(random, events, cause, name, at)
                events["Incident"].append({"server": name, "cpu": cpu, "at": at})
    for several in events.values():
        several.sort(key=lambda row: row["at"])
    return Month(events, causes)


def _incidents(random: np.random.Generator, servers: int, steps: int, count: int) -> dict[tuple[int, int], Cause]:
    chosen = random.choice(np.arange(steps // 50, steps), count, replace=False)
    struck = {}
    for step in chosen:
        cause = CAUSES[random.integers(len(CAUSES))]
        if cause.hour is not None:
            step = step - step % PER_DAY + cause.hour * PER_HOUR + step % PER_HOUR
        struck[int(step), int(random.integers(servers))] = cause
    return struck


def _leave_traces(
    random: np.random.Generator, events: dict[str, list[Row]], cause: Cause, server: str, at: datetime
) -> None:
    running = {*random.choice(PROCESSES, 3, replace=False), *cause.processes}
    for process in sorted(running):
        before = at - timedelta(seconds=float(random.uniform(1, 240)))
        free = float(np.clip(random.normal(cause.free, 2), 0, 100))
        events["Running"].append({"server": server, "proc": str(process), "free": free, "at": before})
    here = {str(random.choice(USERS)), *cause.users}
    for user in sorted(here):
        before = at - timedelta(seconds=float(random.uniform(1, 240)))
        events["Login"].append({"server": server, "user": user, "at": before})
