"""The smart building, live: statements stand while events arrive, the engine is closed and opened, and they go on.

    python examples/live/live.py [HOME]

Without HOME a temporary folder is used. With it, look around there afterwards; a second run needs another one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import presage

BUILDING = Path(__file__).parents[1] / "building"

# From the past through now: what was loaded before it stands counts too.
MEANS = """
    SELECT therm AS room, avg(temp) AS mean
    FROM Temperature#time(5 min) WITHIN [2024-03-01T09:00, )
    GROUP BY therm HAVING avg(temp) > 26
"""
# One statement feeds another: a derived stream, and every four minutes what it holds.
HOT = "INSERT INTO Hot SELECT therm AS room, temp FROM Temperature(temp > 25) WITHIN [2024-03-01T09:00, )"
SUMMARY = """
    SELECT room, count(*) AS readings, max(temp) AS hottest
    FROM Hot#time(4 min) WITHIN [2024-03-01T09:00, )
    GROUP BY room OUTPUT LAST EVERY 4 min
"""


def pieces() -> list[list[dict[str, Any]]]:
    """The readings of a quarter of an hour, then those of a minute or two at a time."""
    readings = [json.loads(line) for line in (BUILDING / "temperature.jsonl").read_text().splitlines()]
    bounds = ["09:00", "09:15", "09:17", "09:18", "09:20"]
    return [[r for r in readings if first <= r["at"][11:] < after] for first, after in pairwise(bounds)]


def deploy(engine: presage.Engine) -> list[Any]:
    """The statements of the example. Where they stand already, in this home, they are the same ones."""
    engine.deploy(HOT, name="hot")
    return [engine.deploy(MEANS, name="means"), engine.deploy(SUMMARY, name="summary")]


def show(statement: str, row: Mapping[str, Any]) -> None:
    values = "  ".join(f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items() if k != "at")
    # In one go: each subscriber has a thread of its own.
    sys.stdout.write(f"  {row['at']:%H:%M:%S}  {statement:8} {values}\n")


def follow(statement: Any, after: int = 0) -> None:
    """Print each row as it comes; `after`: how many were printed before."""
    statement.subscribe(lambda row: show(statement.name, row), after=after)


def drain(statements: list[Any]) -> None:
    for statement in statements:
        statement.drain()


def main(home: Path) -> None:
    past, *coming, last = pieces()
    with presage.Engine(home=home) as engine:
        engine.execute((BUILDING / "building.epl").read_text())
        print(f"{len(past)} readings are there before anything stands")
        engine.load("Temperature", past)
        statements = deploy(engine)
        for statement in statements:
            follow(statement)
        drain(statements)
        for piece in coming:
            print(f"{len(piece)} more arrive")
            engine.load("Temperature", piece)
            drain(statements)
        printed = {statement.name: statement.status.rows_out for statement in statements}

    print("the engine is closed, and opened again on the same home")
    with presage.Engine(home=home) as engine:
        statements = deploy(engine)
        for statement in statements:
            follow(statement, after=printed[statement.name])
        print(f"{len(last)} more arrive")
        engine.load("Temperature", last)
        drain(statements)
        print("no more readings before 09:20, so the last four minutes are complete")
        engine.advance("Temperature", "2024-03-01T09:20:00Z")
        drain(statements)
        for statement in statements:
            status = statement.status
            print(f"{statement.name}: {status.rows_in} readings in, {status.rows_out} rows out, {status.state}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "home")
