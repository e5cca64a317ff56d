"""The conformance cases: events, a query and the rows that must come out, with what each needs declared."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from presage.model.time import format_timestamp

FOLDER = Path(__file__).parent / "cases"
FILES = ("epl_patterns", "epl_match_recognize", "sql_match_recognize")
# Habits of Esper that the language does not follow: a match is emitted when no later event can change it.
EXCEPTED = frozenset({"streaming-only", "early-emit", "all-matches"})
TYPES = {"string": "STRING", "int": "INT", "long": "LONG", "double": "DOUBLE", "boolean": "BOOLEAN"}
TIME = "ts"


@dataclass(frozen=True)
class Case:
    """One case. `events` have their type, their time in milliseconds and their attributes."""

    id: str
    file: str
    features: frozenset[str]
    schemas: dict[str, dict[str, Any]]
    events: tuple[dict[str, Any], ...]
    query: str
    expected: tuple[dict[str, Any], ...]
    ordered: bool
    error: str | None = None
    when: str | None = None

    @property
    def declarations(self) -> str:
        return "\n".join(_declaration(name, attributes) for name, attributes in self.schemas.items())

    @property
    def by_time(self) -> bool:
        """Whether it can run in streaming: what orders by anything else than time cannot."""
        return "order-by" not in self.features

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The events of one stream as rows to load."""
        known = {TIME, *_attributes(name, self.schemas)}
        return [
            {k: v for k, v in event.items() if k in known} | {TIME: event["ts"] * 1_000}
            for event in self.events
            if event["type"] == name
        ]


@cache
def cases() -> tuple[Case, ...]:
    return tuple(case for case in _all() if case.error is None and not case.features & EXCEPTED)


@cache
def error_cases() -> tuple[Case, ...]:
    return tuple(case for case in _all() if case.error is not None)


def _all() -> list[Case]:
    found = []
    for file in FILES:
        content = json.loads((FOLDER / f"{file}.json").read_text())
        sets = content.get("event_sets", {})
        for raw in [*content["cases"], *content["error_cases"]]:
            events = sets[raw["events"]] if isinstance(raw["events"], str) else raw["events"]
            found.append(
                Case(
                    raw["id"],
                    file,
                    frozenset(raw["features"]),
                    raw["schemas"],
                    tuple(events),
                    raw["query"] + _bounds(raw.get("start"), raw.get("until")),
                    tuple(raw.get("expected", ())),
                    raw.get("ordered", False),
                    raw.get("error"),
                    raw.get("when"),
                )
            )
    return found


def _bounds(start: int | None, until: int | None) -> str:
    if start is None and until is None:
        return ""
    low = f"[{format_timestamp(start * 1_000)}" if start is not None else "("
    high = f"{format_timestamp(until * 1_000)}]" if until is not None else ")"
    return f" WITHIN {low}, {high}"


def _declaration(name: str, attributes: dict[str, Any]) -> str:
    columns = [f"{k} {TYPES[v]}" for k, v in attributes.items() if k != "inherits"]
    bases = attributes.get("inherits", [])
    columns += [] if bases else [f"{TIME} TIMESTAMP"]
    listed = f" ({', '.join(columns)})" if columns else ""
    if bases:
        return f"CREATE STREAM {name}{listed} INHERITS {', '.join(bases)};"
    return f"CREATE STREAM {name}{listed} EVENT TIME {TIME};"


def _attributes(name: str, schemas: dict[str, dict[str, Any]]) -> set[str]:
    own = schemas[name]
    return {k for k in own if k != "inherits"}.union(*(_attributes(b, schemas) for b in own.get("inherits", [])))


def differences(case: Case, rows: list[dict[str, Any]]) -> str:
    """What is wrong with the rows of a case; nothing if they are right. `at` in microseconds."""
    names = [k for k in (case.expected[0] if case.expected else {}) if k != "at"]
    timed = all(row["at"] is not None for row in case.expected)
    wanted = [[row["at"] * 1_000 if timed else None, *(row[n] for n in names)] for row in case.expected]
    found = [[row["at"] if timed else None, *(row.get(n, "missing") for n in names)] for row in rows]
    if not case.ordered:
        wanted, found = (sorted(part, key=repr) for part in (wanted, found))
    if len(wanted) == len(found) and all(map(_same, wanted, found)):
        return ""
    return f"expected {wanted}\nfound    {found}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
