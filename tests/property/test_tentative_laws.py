"""A deployed SELECT TENTATIVE: at any moment what was told and not taken back is what the query without TENTATIVE makes
of all that has arrived by then, however late, however the input is cut, and through restarts."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.live import state_delta as state_changes
from property.prediction_worlds import QUARTER, periods, updates
from property.test_live_laws import POINTS, SHAPE
from property.test_predicted_queries import ATTRIBUTES, BUFFERS, KEYS, QUERIES, UNBUFFERED, last_time, rows_of, world
from recovery.crashing import Crash, CrashAt, MemoryDisk
from recovery.living import Living
from reference.predictions import SECOND, Update

MAX_DELAY = 2 * SECOND
DELAYS = (0, 0, 0, 1, 3, 7, 8)  # quarters of a second, up to max_delay
BOUNDS = {"": (0, 1 << 60), "WITHIN [1970-01-01T00:00:01, 1970-01-01T00:00:04)": (SECOND, 4 * SECOND)}
TEXTS = {name: text for name, text in QUERIES.items() if "VALIDATE" not in text}


several_updates = st.tuples(updates(KEYS), updates(KEYS)).map(lambda two: two[0] + two[1])


def declaration(period: int, more: str) -> str:
    return f"""CREATE STREAM G (k INT, note STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (k)
    PREDICTED (x, y) WITH (period = '{period // 1000} msec', max_delay = '{MAX_DELAY // 1000} msec'{more})"""


def event_of(update: Update) -> dict[str, Any]:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=update.at)
    row: dict[str, Any] = {"k": update.key, "note": f"n{update.values[1]}", "at": at}
    for i, name in enumerate(ATTRIBUTES):
        row |= {f"{name}_value": update.values[i], f"{name}_rate": update.rates[i]}
        row[f"{name}_threshold"] = update.thresholds[i]
    return row


def within(text: str, bound: str) -> str:
    """The query with time bounds, which stand before WHERE, WITH and VALIDATE."""
    for word in (" WHERE ", " WITH ", " VALIDATE "):
        if word in text:
            head, tail = text.split(word, 1)
            return f"{head} {bound}{word}{tail}"
    return f"{text} {bound}"


def values_of(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(value) for name, value in row.items() if name not in ("at", "change"))


def net(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """What was told and not taken back: nothing is told twice, nor taken back that was not told."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        found[values_of(row)] += 1 if row["change"] == "insert" else -1
        assert found[values_of(row)] in (0, 1), row
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    return +found


class TentativeLife:
    """A home with one statement, tentative unless said otherwise, and the query that it is compared with."""

    def __init__(
        self, folder: Path, text: str, bound: str, period: int, more: str, tentative: bool = True, **job: Any
    ) -> None:
        self.folder, self.disk, self.job = folder, MemoryDisk(), job
        self.text, self.bound, self.period, self.more = within(text, bound), bound, period, more
        self.arrived: list[Update] = []
        self.loads = 0
        self.points = CrashAt()
        self.home = self._open()
        self.home.declare(declaration(period, more))
        self.home.deploy(self.text.replace("SELECT", "SELECT TENTATIVE", 1) if tentative else self.text, "told")

    def _open(self) -> Living:
        return Living(self.folder / "home", self.disk, self.points, now=0, **self.job)

    def reopen(self, dying: bool) -> None:
        self.home.die() if dying else self.home.close()
        self.home = self._open()

    def load(self, several: list[Update], die_at: str = "never") -> None:
        """Updates arrive and are looked at. Who sends them does so again if the process dies at a point, or none."""
        self.loads += 1
        self.points.arm(die_at)
        try:
            self._take_in(several)
        except Crash:
            event("crashed")
            self.points.arm()
            self.reopen(dying=True)
            self._take_in(several)
        self.points.arm()
        self.arrived += several

    def _take_in(self, several: list[Update]) -> None:
        self.home.load("G", [event_of(update) for update in several], f"load-{self.loads}")
        self.home.drain()

    def maintain(self) -> None:
        types = list(self.home.catalog.types.values())
        self.home.log.maintenance.run(types, self.home.deployments.in_use(), SHAPE, grace=0)

    def settle(self) -> None:
        self.home.log.append_watermark("G", last_time(self.arrived, self.period) + SECOND)
        self.home.drain()

    def rows(self) -> list[dict[str, Any]]:
        assert not self.home.deployments["told"].status.last_error
        return self.home.rows("told")

    def expected(self) -> Counter[tuple[str, ...]]:
        return Counter(map(values_of, self.asked()))

    def asked(self) -> list[dict[str, Any]]:
        """The rows of the query over what has arrived."""
        low, high = BOUNDS[self.bound]
        seen = [update for update in self.arrived if low <= update.at < high]
        if not seen:
            return []
        return rows_of(world(self.period, self.more), self.text, seen, [], last_time(seen, self.period))


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=5)
@given(
    several_updates,
    periods,
    st.integers(0, 2**16),
    st.sampled_from(list(BOUNDS)),
    st.sampled_from(BUFFERS),
    st.sampled_from([1, 1, 2]),
)
def test_what_has_arrived_is_told_at_once(
    name: str, several: list[Update], period: int, seed: int, bound: str, buffer: str, shards: int
) -> None:
    """Also where the process dies, or files are put together, in between; small states are written as changes, too."""
    dice = Random(seed)
    coming = sorted(several, key=lambda update: update.at + dice.choice(DELAYS) * QUARTER)
    more = "" if name in UNBUFFERED else buffer
    with tempfile.TemporaryDirectory() as folder, patch.object(state_changes, "ROWS_WORTH_A_LOOK", 1):
        life = TentativeLife(Path(folder), TEXTS[name], bound, period, more, shards=shards)
        while coming:
            count = dice.randint(1, 3)
            life.load(coming[:count], dice.choice(POINTS) if dice.random() < 0.2 else "never")
            coming = coming[count:]
            if dice.random() < 0.2:
                life.reopen(dying=False)
            if dice.random() < 0.2:
                life.maintain()
            assert net(life.rows()) == life.expected()
            event("foreseen" if life.expected() else "nothing foreseen")
        life.settle()
        assert net(life.rows()) == life.expected()
        life.home.close()


@settings(max_examples=10)
@given(several_updates, periods, st.integers(0, 2**16), st.sampled_from(sorted(TEXTS)), st.sampled_from(list(BOUNDS)))
def test_where_more_lies_ahead_than_a_batch_holds_the_end_is_the_same(
    several: list[Update], period: int, seed: int, name: str, bound: str
) -> None:
    """What was told stands until somebody looks again."""
    dice = Random(seed)
    coming = sorted(several, key=lambda update: update.at + dice.choice(DELAYS) * QUARTER)
    with tempfile.TemporaryDirectory() as folder:
        life = TentativeLife(Path(folder), TEXTS[name], bound, period, "", rows_per_batch=dice.choice([2, 3]))
        while coming:
            count = dice.randint(1, 5)
            life.load(coming[:count])
            coming = coming[count:]
            net(life.rows())
        life.settle()
        assert net(life.rows()) == life.expected()
        life.home.close()
