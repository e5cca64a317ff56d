"""Streams that are filled with FINAL RECALL, and who reads them: whatever happens to a home, rows are a prefix of what
the reference makes of the same events, and all of it once time has passed and history has been read."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.lang import syntax as s
from presage.live.job import Job
from presage.operators.recall import archive_history
from presage.plan.nodes import TIME
from property.query_texts import START, worlds
from property.test_live_laws import ACTIONS, SECOND, SMALL, Life, moment
from recovery.living import Living
from recovery.recalling import recalling_home
from reference import recall_plans
from reference.aggregates_in_parts import of_values
from reference.plans import World

assert recall_plans.recall_rows, "the interpreter knows RECALL"

FILL = """INSERT INTO Told SELECT e.k, e.v, r.c, r.s FROM Tick e EVENT ID (e.k)
FINAL RECALL LAST 4 sec ( SELECT count(*) AS c, sum(h.n) AS s FROM Temp h WHERE h.k = e.k ) AS r"""
GROUPS = """INSERT INTO Told SELECT e.k, r.c AS v, r.c, r.c AS s FROM Temp e EVENT ID (e.k)
FINAL RECALL LAST 2 sec ( SELECT h.k AS g, count(*) AS c FROM Door h GROUP BY h.k ) AS r WHERE r.c > 0"""
DEEP = """INSERT INTO Deep SELECT t.k, t.c, r.m FROM Told t EVENT ID (t.k)
FINAL RECALL LAST 3 sec ( SELECT count(*) AS m FROM Door h WHERE h.k = t.k ) AS r"""
# In the last bit, too, nothing depends on how batches and history were cut.
MEANS = """INSERT INTO Mean SELECT e.k, r.a, r.s, r.d FROM Tick e EVENT ID (e.k)
FINAL RECALL LAST 6 sec ( SELECT avg(h.x / 3) AS a, sum(h.x / 7) AS s, stddev(h.x / 3) AS d FROM Temp h ) AS r"""
# Only declared: whoever reads it recalls by itself.
DECLARED = FILL.replace("Told", "Past")
READERS = [
    "SELECT k, v, c, s FROM {}",
    "SELECT k, count(*) AS n, sum(c) AS c FROM {}#time(2 sec) GROUP BY k",
    "SELECT k, count(*) AS n FROM {}#time_batch(2 sec) GROUP BY k",
    "SELECT a.k, a.c, b.v FROM {}#time(3 sec) AS a JOIN Tick#length(2) AS b ON a.k = b.k",
    "SELECT k, v, c FROM {} WITHIN [2024-03-01T09:00:02, 2024-03-01T09:00:06)",
    "SELECT k, sum(c) AS c FROM {} GROUP BY k OUTPUT LAST EVERY 2 sec",
    "INSERT INTO More SELECT k, c FROM {0} WHERE c > 0; SELECT m.k, p.c FROM More#length(2) AS m JOIN {0}#length(2) AS "
    "p ON m.k = p.k",
]
TEXTS = [
    *(f"{FILL}; {reader.format('Told')}" for reader in READERS),
    *(f"{GROUPS}; {reader.format('Told')}" for reader in READERS[:2]),
    f"{FILL}; {DEEP}; SELECT k, count(*) AS n, sum(m) AS m FROM Deep#time(3 sec) GROUP BY k",
    f"{DEEP.replace('Told', 'Past')}; SELECT k, c, m FROM Deep",
    *(reader.format("Past") for reader in READERS),
    f"{MEANS}; SELECT k, a, s, d FROM Mean",
    # One that began in the past would come too late for those that read its stream already.
    FILL + " WITHIN [now, 2024-03-01T09:00:05)",
    f"{FILL} WITHIN [now, 2024-03-01T09:00:04); {READERS[0].format('Told')}",
    f"{FILL}; {GROUPS}; {READERS[1].format('Told')}",
]


class Recalled(Life):
    """A home whose statements may ask the archive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.home.declare(DECLARED)

    def deploy(self) -> None:
        *before, last = self.home.workspace.parse(self.dice.choice(self.texts)).statements
        for query in before:
            assert isinstance(query, s.Query)
            self._deploy(query, f"into-{query.insert_into} from {query.items[0].name}")
        self._deploy(last, f"statement-{self.dice.randint(0, 2)}")

    def open(self) -> Living:
        rows = self.dice.choice([2, 5, 1_000])
        points, shards = self.points, self.shards
        return recalling_home(self.folder, self.disk, points, now=START, shards=shards, rows_per_batch=rows)


@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
    worlds(),
    st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=16),
    st.integers(0, 2**16),
    st.sampled_from([1, 1, 2]),
)
def test_rows_are_a_prefix_of_those_of_the_reference_whatever_happens(
    texts: list[str], world: World, actions: list[str], seed: int, shards: int
) -> None:
    dice = Random(seed)
    coming = [(name, row) for name, rows in world.streams.items() for row in rows]
    coming.sort(key=lambda e: e[1][TIME] + dice.randint(0, 3) * SECOND)
    with ExitStack() as stack:
        for module, name, value in (*SMALL, (archive_history, "CHUNK_ROWS", 2)):
            stack.enter_context(patch.object(module, name, value))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        life = Recalled(Path(folder) / "home", coming, texts, dice, shards)
        life.deploy()
        life.load()
        life.deploy()
        life.load()
        for action in actions:
            life.do(action)
        life.points.arm()
        life.drain()
        life.check(drained=True)
        life.end()


@pytest.mark.parametrize("ends", ["stop", "replace"])
@pytest.mark.parametrize("chunk", [1, 1_000], ids=["many chunks", "one chunk"])
def test_a_statement_that_ends_before_its_answers_ends_where_its_rows_do(tmp_path: Path, ends: str, chunk: int) -> None:
    life = _recalled(tmp_path, DEEP.replace("Told", "Past"), "SELECT k, c, m FROM Deep")
    _load(life, "Door", 1, 2, 6)
    _load(life, "Tick", 0, 1, 3, 6)
    with patch.object(archive_history, "CHUNK_ROWS", chunk):
        _end(life, ends)  # it takes in events in one more batch, and has yet to catch up
    _load(life, "Tick", 8)
    life.drain()
    life.check(drained=True)
    life.end()


@pytest.mark.parametrize("ends", ["stop", "replace"])
def test_an_event_that_came_late_within_the_time_of_the_rows_is_open_when_its_statement_ends(
    tmp_path: Path, ends: str
) -> None:
    life = _recalled(tmp_path, FILL, "SELECT k, v, c, s FROM Told")
    _load(life, "Temp", 0, 1, 2, 3)
    _load(life, "Tick", 4, 6)
    life.drain()
    assert len(life.home.rows("into Told")) == 1, "time is known up to the first of them"
    _load(life, "Tick", 4)
    with patch.object(archive_history, "CHUNK_ROWS", 1), patch.object(Job, "finish"):
        life.advance()
        assert life.home.deployments["into Told"].status.recalls_ready == 1
        _end(life, ends)
    _load(life, "Tick", 9)
    life.drain()
    life.check(drained=True)
    life.end()


def test_sums_do_not_depend_in_the_last_bit_on_how_batches_and_history_were_cut(tmp_path: Path) -> None:
    values = [0.1, 1e16, 0.2, -0.3, 1 / 3, -1e16, 0.7, 2 / 7, 1e-17]
    found = []
    for chunk, batch in ((1, 2), (3, 4), (1_000, 9)):
        life = Recalled(tmp_path / f"{chunk}", [], [], Random(0), 1)
        (query,) = life.home.workspace.parse(MEANS).statements
        life._deploy(query, "means")
        rows = [
            {"k": "a", "n": 1, "x": x, "tags": [], "at": moment(START + i * SECOND // 2)} for i, x in enumerate(values)
        ]
        for start in range(0, len(rows), batch):
            life.home.load("Temp", rows[start : start + batch])
        _load(life, "Tick", 5, 60)
        with patch.object(archive_history, "CHUNK_ROWS", chunk):
            life.drain()
        ((row),) = life.home.rows("means")
        found.append((row["a"], row["s"], row["d"]))
    thirds = [x / 3 for x in values]
    deviation = of_values("stddev", thirds)
    assert found == [(math.fsum(thirds) / len(values), math.fsum(x / 7 for x in values), deviation)] * 3


def _recalled(folder: Path, fill: str, reader: str) -> Recalled:
    """A home where one statement fills a stream with FINAL RECALL, another reads it, and a third keeps time going."""
    life = Recalled(folder / "home", [], [], Random(0), 1)
    for text, name in ((fill, "into " + fill.split()[2]), (reader, "reader"), ("SELECT v FROM Tick", "other")):
        (query,) = life.home.workspace.parse(text).statements
        life._deploy(query, name)
    return life


def _load(life: Recalled, stream: str, *seconds: int) -> None:
    """An event at each time, all of one key."""
    values = {"Temp": {"n": 1, "x": 0.5, "tags": []}, "Door": {"n": 1, "open": True, "spot": None}, "Tick": {"v": 1}}
    life.home.load(stream, [{"k": "a", **values[stream], "at": moment(START + at * SECOND)} for at in seconds])


def _end(life: Recalled, how: str) -> None:
    """What fills the stream stops, or makes place for another."""
    (name,) = [name for name in life.home.deployments if name.startswith("into")]
    if how == "stop":
        life.home.stop(name)
    else:
        (query,) = life.home.workspace.parse("SELECT k FROM Tick").statements
        life._deploy(query, name, replaces=True)
