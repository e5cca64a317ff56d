"""Rows of a probabilistic stream are kept or rejected as a plain count of each distribution's mass would have it."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.storage import Log
from recovery.crashing import MemoryDisk
from unit.declared import workspace

DELAY = 2
STREAM = f"""CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
    PROBABILISTIC MARKOV (place) WITH (max_delay = '{DELAY} sec');"""
AT = workspace(STREAM).catalog.types["At"]

# person, second, place, place before, quarters of probability
rows = st.tuples(
    st.sampled_from("jk"),
    st.integers(1, 6),
    st.sampled_from("abc"),
    st.none() | st.sampled_from("ab"),
    st.integers(0, 5),
)
Row = tuple[str, int, str, str | None, int]


class Count:
    """The twin: a mass for each distribution, a set of alternatives, and the greatest time seen."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, int, str | None], dict[str, Fraction]] = {}
        self.greatest: int | None = None

    def load(self, given: list[Row]) -> tuple[list[Row], int, int]:
        """The rows that are accepted, and how many are late and rejected."""
        late, rejected = 0, 0
        arriving: dict[tuple[str, int, str | None], dict[str, Row]] = {}
        for row in given:
            person, second, place, before, quarters = row
            owner = (person, second, before)
            if quarters > 4:
                rejected += 1
            elif self.greatest is not None and second < self.greatest - DELAY:
                late += 1
            elif place in self.kept.get(owner, {}) or place in arriving.get(owner, {}):
                rejected += 1
            else:
                arriving.setdefault(owner, {})[place] = row
        accepted: list[Row] = []
        for owner, alternatives in arriving.items():
            known = self.kept.get(owner, {})
            masses = {place: Fraction(row[4], 4) for place, row in alternatives.items()}
            if sum(known.values()) + sum(masses.values()) > 1:
                rejected += len(masses)
                continue
            self.kept[owner] = {**known, **masses}
            accepted += alternatives.values()
        times = [row[1] for row in accepted]
        if times:
            self.greatest = max([*times, *([self.greatest] if self.greatest is not None else [])])
        return accepted, late, rejected


@given(st.lists(st.tuples(st.booleans(), st.lists(rows, max_size=8)), max_size=5))
@settings(max_examples=40, deadline=None)
def test_loads_and_restarts_keep_what_a_count_of_masses_keeps(loads: list[tuple[bool, list[Row]]]) -> None:
    twin, expected = Count(), []
    disk = MemoryDisk()
    with tempfile.TemporaryDirectory() as folder:
        log = Log.open(Path(folder), durable=False, tables=disk.tables())
        log.create_stream(AT)
        for restart, given_rows in loads:
            if restart:
                log.close()
                log = Log.open(Path(folder), durable=False, tables=disk.tables())
            accepted, late, rejected = twin.load(given_rows)
            expected += accepted
            report = log.append(AT, [_as_dict(row) for row in given_rows])
            assert (report.accepted, report.late, report.rejected) == (len(accepted), late, rejected)
        names = ["person", "at", "place", "prev_place", "probability"]
        found = log.archive.read_arrow(log.archive.snapshot("At"), names).to_pylist()
        log.close()
    shown = [(f["person"], f["at"].second, f["place"], f["prev_place"], round(f["probability"] * 4)) for f in found]
    assert sorted(shown, key=str) == sorted(expected, key=str)


def _as_dict(row: Row) -> dict[str, object]:
    person, second, place, before, quarters = row
    when = f"2024-01-01T00:00:0{second}"
    return {"person": person, "at": when, "place": place, "prev_place": before, "probability": quarters / 4}
