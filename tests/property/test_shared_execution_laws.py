"""The law of shared execution: statements of one template that step as one have the rows that each would have alone,
whatever is deployed, stopped, replaced or lost between the batches."""

from __future__ import annotations

import logging
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.live import runner
from presage.live import state_delta as state_changes
from presage.live import state_store as store
from presage.operators.windows.kernel import live_rows
from presage.storage import committer
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, x DOUBLE, at TIMESTAMP) EVENT TIME at WITH (max_delay = '1 sec')"
HISTORY = " WITHIN [2024-03-01T09:00:00, )"
# {c} and {d} are numbers, {e} a number from 1, {s} a symbol, {h} the past: what statements of one form differ in.
PATTERNS = [
    "SELECT a.n AS x, b.n + {d} AS y, {c} AS c FROM PATTERN [ EVERY a=Tick(sym = '{s}' AND n > {c}) -> "
    "b=Tick(sym = '{s}' AND n < a.n) WHERE timer:within(2 sec) ]",
    "SELECT a.n AS x FROM PATTERN [ EVERY a=Tick(n = {c}) -> (timer:interval(1 sec) AND NOT b=Tick(n = {d})) ]",
    "SELECT a.sym AS x, b.sym AS y FROM PATTERN [ a=Tick(n = {c}) -> b=Tick(n = {d}) ]",
    "SELECT a.sym AS x, b.n AS y FROM PATTERN [ EVERY a=Tick(n > {c}) -> b=Tick(sym = a.sym AND n = {d}) ]",
    "SELECT a.sym AS x, b.sym AS y FROM PATTERN [ EVERY (a=Tick(n = {c}) AND b=Tick(n > {d})) ]",
    "SELECT a[0].sym AS x, b.n AS y FROM PATTERN [ EVERY ([2] a=Tick(n >= {c})) -> "
    "(b=Tick(n = {d}) OR c=Tick(n = 0)) ]",
    # Fails for an event whose n is not a possible bound.
    "SELECT a.n AS x, b[0].sym AS y FROM PATTERN [ EVERY a=Tick(n >= {c}) -> [a.n:3] b=Tick(sym = '{s}') "
    "UNTIL c=Tick(n = {d}) ]",
    "SELECT x, y FROM Tick MATCH_RECOGNIZE (MEASURES A.n AS x, LAST(B.n) AS y PATTERN (A B+) "
    "DEFINE A AS A.n = {c}, B AS B.n > {d})",
    "SELECT sym, x, m FROM Tick MATCH_RECOGNIZE (PARTITION BY sym MEASURES A.n + {d} AS x, MATCH_NUMBER() AS m "
    "PATTERN (A B) WITHIN 2 sec DEFINE A AS A.n > {c}, B AS B.n < A.n)",
    "SELECT n, x FROM Tick MATCH_RECOGNIZE (MEASURES count(*) AS x ALL ROWS PER MATCH PATTERN (A{{2}}) "
    "DEFINE A AS A.n >= {c} AND A.sym <> '{s}')",
    "SELECT DISTINCT a.sym AS x, b.n > {d} AS y FROM PATTERN [ EVERY a=Tick(n > {c}) -> b=Tick(sym = '{s}') ]",
]
PLAIN = [
    "SELECT sym, n + {d} AS m, '{s}' AS s FROM Tick{h} WHERE n > {c} AND sym = '{s}'",
    "SELECT sym, {c} AS c FROM Tick{h} WHERE x < {d} OR n = {c}",
    "SELECT sym FROM Tick{h}",
    "SELECT DISTINCT sym, n > {d} AS more FROM Tick(n <> {c}){h}",
    "SELECT sym, n FROM Tick(n >= {c}){h} OUTPUT LAST EVERY 2 sec",
    "SELECT sym, n FROM Tick(n >= {c}){h} OUTPUT ALL EVERY 3 sec",
    "SELECT n / {c} AS q, x * {d} AS p FROM Tick(sym = '{s}'){h}",
]
WINDOWS = [
    "SELECT n, avg(x) AS a, sum(n) AS b, count(*) AS c FROM Tick(sym = '{s}')#time({e} sec){h}",
    "SELECT sym, stddev(x) AS a, min(x) AS b, sum(x + {d}) AS c FROM Tick(n > {c})#time({e} sec){h} GROUP BY sym",
    "SELECT sym, sum(x) AS a, max(n) AS b, first(n) AS f, last(n) AS l FROM Tick(n <> {c})#length({e}){h}",
    "SELECT sym, sum(x) AS a, count(DISTINCT n) AS b FROM Tick#length({e}){h} WHERE n > {c} GROUP BY sym "
    "HAVING sum(n) > {d}",
    "SELECT sym, sum(x) AS a, median(n) AS b FROM Tick(n >= {c})#unique(sym){h}",
    "SELECT n, sum(DISTINCT x) AS a, window(n) AS w FROM Tick(sym = '{s}')#groupwin(n)#length({e}){h}",
    "SELECT sum(x) AS a, count(*) AS b FROM Tick(n >= {c})#time_batch({e} sec){h}",
    "SELECT sym, n, sum(x) AS a FROM Tick(n >= {c})#time_batch({e} sec){h}",
    "SELECT sym, avg(x) AS a, median(n) AS b FROM Tick(n <> {c})#time_batch({e} sec){h} GROUP BY sym "
    "HAVING count(*) > {d}",
    "SELECT sym, sum(x) AS a, window_start AS w FROM Tick(n >= {c})#tumble({e} sec){h} GROUP BY sym",
    "SELECT sym, n, sum(x) AS a, window_end AS w FROM Tick(n >= {c})#tumble({e} sec, 1 sec){h}",
    "SELECT sym, sum(x) AS a, max(n) AS b, median(x) AS m, window_start AS w "
    "FROM Tick(n >= {c})#hop({e} sec, 1 sec){h} GROUP BY sym",
    "SELECT sym, n, window_end AS w FROM Tick(n >= {c})#hop(3 sec, {e} sec){h}",
    "SELECT sym, sum(x) AS a, window_start AS w FROM Tick(n >= {c})#session({e} sec){h} GROUP BY sym",
    "SELECT sym, count(*) AS a, window_start AS w FROM Tick#session({e} sec, sym){h} WHERE n > {c}",
    "SELECT sum(x) AS a FROM Tick(sym = '{s}')#length_batch({e}){h}",
    "SELECT avg(x) AS a, count(*) AS b FROM Tick(n >= {c})#groupwin(sym)#time_batch({e} sec){h}",
    "SELECT sym, n, window(n) AS a FROM Tick#groupwin(sym)#length_batch({e}){h} WHERE n > {c}",
    "SELECT sym, sum(x) AS a, stddev(x) AS b, median(x) AS c FROM Tick(n > {c}){h} GROUP BY sym",
    "SELECT count(*) AS a, min(x) AS b, count(DISTINCT n) AS c FROM Tick(sym = '{s}')#keepall{h} HAVING count(*) > {d}",
    "SELECT sym, n, sum(x) AS a FROM Tick(n >= {c})#firstunique(n){h}",
    "SELECT x, sum(n) AS a FROM Tick(sym = '{s}')#lastevent{h}",
    "SELECT n > {c} AS more, sum(x) AS a FROM Tick#time({e} sec){h} GROUP BY n > {c}",
    "SELECT DISTINCT sum(n) + {d} AS a FROM Tick(n > {c})#length({e}){h}",
    "SELECT sym, sum(x) AS a FROM Tick(n > {c})#time({e} sec){h} GROUP BY sym OUTPUT LAST EVERY 2 sec",
    "SELECT sym, count(*) AS a FROM Tick(n > {c})#time_batch({e} sec){h} GROUP BY sym OUTPUT FIRST EVERY 3 sec",
    "SELECT sym, sum(x) AS a FROM Tick(n > {c})#time({e} sec) WITHIN [2024-03-01T09:00:00, 2024-03-01T09:00:07) "
    "GROUP BY sym OUTPUT LAST",
    "SELECT sym, sum(x) AS a FROM Tick(n > {c})#time({e} sec) WITHIN [2024-03-01T09:00:00, 2024-03-01T09:00:07) "
    "GROUP BY sym OUTPUT SNAPSHOT",
    "SELECT DISTINCT sum(x) + {d} AS a FROM Tick WITHIN [2024-03-01T09:00:00, 2024-03-01T09:00:06) WHERE n > {c} "
    "GROUP BY sym HAVING count(*) > {d} OUTPUT LAST",
    "SELECT sym, count_if(n > {c}) AS a, percentile(x, 0.3) AS b, corr(x, n) AS r FROM Tick#time({e} sec){h} "
    "GROUP BY sym",
]
FORMS = [*PATTERNS, *PLAIN, *WINDOWS]
# In small worlds, too: journals are shortened, files swept, states written as changes, windows
# stepped where an event touches them.
SMALL = (
    (committer, "RECORDS_PER_HEAD", 4),
    (store, "BATCHES_PER_SWEEP", 3),
    (state_changes, "ROWS_WORTH_A_LOOK", 1),
    (live_rows, "LEAST_ROWS", 1),
    (live_rows, "LEAST_TIMES", 0),
    (live_rows, "LEAST_RECORDED", 1),
    (live_rows, "MOST_TOUCHED", 1.0),
)
FAILING = next(form for form in FORMS if "[a.n:3]" in form)
ACTIONS = ("load", "load", "load", "load", "advance", "drain", "deploy", "stop", "replace", "reopen", "silence")


@dataclass
class Twins:
    """Two homes that live through the same: in one of them statements share execution."""

    folder: Path
    dice: Random
    shards: int
    forms: list[str]

    def __post_init__(self) -> None:
        self.disks = [MemoryDisk(), MemoryDisk()]
        self.homes = [self.open(i) for i in range(2)]
        for home in self.homes:
            home.declare(STREAM)
        self.second = 0
        self.count = 0

    def open(self, which: int) -> Living:
        least = (2, 1_000)[which]
        return Living(self.folder / str(which), self.disks[which], shards=self.shards, least_members=least)

    def load(self) -> None:
        rows = []
        for _ in range(self.dice.randint(1, 6)):
            self.second += self.dice.choice([0, 0, 1])
            time = self.second + self.dice.choice([0, 0, 0, -1])
            n = self.dice.choice([0, 1, 2, 3, None])
            at = f"2024-03-01T09:{max(time, 0) // 60:02}:{max(time, 0) % 60:02}Z"
            x = self.dice.choice([0.1, 0.2, 1e16, -1e16, 3.3, None])
            rows.append({"sym": self.dice.choice("ab"), "n": n, "x": x, "at": at})
        for home in self.homes:
            home.load("Tick", rows)

    def advance(self) -> None:
        for home in self.homes:
            home.deployments.job.advance()

    def drain(self) -> None:
        for home in self.homes:
            home.drain()

    def silence(self) -> None:
        self.second += 3
        for home in self.homes:
            home.log.append_watermark("Tick", (1_709_283_600 + self.second) * 1_000_000)

    def text(self) -> str:
        form = self.dice.choice(self.forms)
        c, d, e = self.dice.randint(0, 3), self.dice.randint(0, 3), self.dice.randint(1, 4)
        history = self.dice.choice(["", "", HISTORY])
        text = form.format(c=c, d=d, e=e, s=self.dice.choice("ab"), h=history)
        return text if "{h}" in form or "WITHIN" in form else text + history

    def deploy(self) -> None:
        text, self.count = self.text(), self.count + 1
        for home in self.homes:
            home.deploy(text, f"s{self.count}")

    def replace(self) -> None:
        running = sorted(name for name, d in self.homes[0].deployments.items() if d.status.state == "running")
        if running:
            name, text = self.dice.choice(running), self.text()
            for home in self.homes:
                home.deploy(text, name, replace=True)

    def stop(self) -> None:
        running = sorted(name for name, d in self.homes[0].deployments.items() if d.status.state == "running")
        if running:
            name = self.dice.choice(running)
            for home in self.homes:
                home.stop(name)

    def reopen(self) -> None:
        for home in self.homes:
            home.die() if self.dice.random() < 0.5 else home.close()
        self.homes = [self.open(i) for i in range(2)]

    def found(self, which: int) -> dict[str, Any]:
        job = self.homes[which].deployments.job
        found: dict[str, Any] = self.homes[which].found()["statements"]
        event(f"shared: {any(s.shared for s in job.statements.values())}, home {which}")
        event("failed" if any(s.error for s in job.statements.values()) else "nobody failed")
        return found


@settings(max_examples=settings.default.max_examples // 8)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=20),
    st.sampled_from([1, 1, 2]),
    st.lists(st.sampled_from(FORMS) | st.sampled_from(WINDOWS) | st.just(FAILING), min_size=1, max_size=2),
)
def test_statements_that_step_as_one_have_the_rows_of_each_alone(
    seed: int, actions: list[str], shards: int, forms: list[str]
) -> None:
    with ExitStack() as stack:
        # A shared plan that fails steps one by one, with the same rows: that must not hide a mistake of ours.
        warned = stack.enter_context(patch.object(runner, "tell"))
        for module, name, value in SMALL:
            stack.enter_context(patch.object(module, name, value))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        twins = Twins(Path(folder), Random(seed), shards, forms)
        for _ in range(4):
            twins.deploy()
        for action in actions:
            getattr(twins, action)()
        twins.silence()
        twins.drain()
        assert twins.found(0) == twins.found(1)
        assert [call for call in warned.call_args_list if call.args[0] >= logging.WARNING] == []
        for home in twins.homes:
            home.close()
