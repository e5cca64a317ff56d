"""The law of sources: however rows are cut into files, whenever these come, and whatever dies in between, a deployed
statement over them has the rows of the bounded query over the same rows loaded at once."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.lang import syntax as s
from presage.plan.nodes import TIME
from presage.sources import file_reader, files
from property.query_texts import SECOND, START
from property.test_live_laws import POINTS, SMALL, moment, shown
from property.test_live_queries import as_micros
from recovery.crashing import Crash, CrashAt, MemoryDisk
from recovery.living import Living
from reference.plans import Row, World, evaluate
from unit.sources.folders import Stepped, put

DECLARED = "CREATE STREAM Tick (k STRING, v LONG, at TIMESTAMP) EVENT TIME at WITH (max_delay = '2 sec'{})"
TEXTS = [
    "SELECT k, v FROM Tick WHERE v > 0",
    "SELECT k, count(*) AS c, sum(v) AS s FROM Tick#time(3 sec) GROUP BY k",
    "SELECT v, last(k) AS k FROM Tick#length(3) GROUP BY v",
    "SELECT k, count(*) AS c FROM Tick#time_batch(2 sec) GROUP BY k",
    "SELECT a.k, a.v, b.v AS w FROM Tick#time(2 sec) AS a JOIN Tick#length(3) AS b ON a.k = b.k",
    "SELECT DISTINCT k, v FROM Tick",
    "SELECT k, sum(v) AS v FROM Tick GROUP BY k OUTPUT LAST EVERY 2 sec",
]
ACTIONS = ("put", "put", "step", "step", "advance", "reopen", "crash", "crash")
END = START + 60 * SECOND
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([-1, 0, 1, 2, None]), st.integers(0, 16)),
    min_size=4,
    max_size=24,
)


def as_json(rows: list[Row]) -> bytes:
    return "".join(json.dumps({**row, "at": row["at"].isoformat()}) + "\n" for row in rows).encode()


def as_csv(rows: list[Row]) -> bytes:
    cells = [["" if row[n] is None else str(row[n]) for n in ("v", "k")] + [row["at"].isoformat()] for row in rows]
    return "".join(",".join(line) + "\n" for line in [["v", "k", "at"], *cells]).encode()


def as_parquet(rows: list[Row]) -> bytes:
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("v", pa.int32()), ("k", pa.string())])
    made = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), made, row_group_size=2)
    return made.getvalue()


FORMATS: dict[str, Callable[[list[Row]], bytes]] = {"json": as_json, "csv": as_csv, "parquet": as_parquet}


class Life:
    """A home whose stream is filled from a folder, and the files that are still to come."""

    def __init__(self, folder: Path, coming: list[tuple[str, bytes]], texts: list[str], dice: Random) -> None:
        self.folder, self.coming, self.dice = folder, coming, dice
        self.disk, self.points = MemoryDisk(), CrashAt()
        self.incoming = folder / "incoming"
        self.incoming.mkdir()
        self.open()
        self.home.declare(DECLARED.format(f", source = 'files', path = '{self.incoming}', settle = '0 sec'"))
        for number, text in enumerate(texts):
            self.home.deploy(text, str(number))
        self.begin()

    def open(self) -> None:
        rows = self.dice.choice([2, 5, 1_000])
        given = {"now": START, "roots": [self.folder], "rows_per_batch": rows}
        self.home = Living(self.folder / "home", self.disk, self.points, **given)

    def begin(self) -> None:
        self.source = Stepped(self.home.log, self.home.stream("Tick"))

    def do(self, action: str) -> None:
        try:
            getattr(self, action)()
        except Crash:
            event("crashed")
            self.points.arm()
            self.home.die()
            self.open()
            self.begin()

    def put(self) -> None:
        if self.coming:
            put(self.incoming, *self.coming.pop(0))

    def step(self) -> None:
        self.source.step()

    def advance(self) -> None:
        self.home.deployments.job.advance()

    def reopen(self) -> None:
        self.home.close()
        self.open()
        self.begin()

    def crash(self) -> None:
        """In the next delivery or the next batch, if it comes to that point."""
        self.put()
        self.points.arm(self.dice.choice(POINTS), self.dice.randint(1, 2))
        self.dice.choice([self.step, self.advance])()
        self.points.arm()

    def end(self) -> None:
        """All files come, and then silence."""
        while self.coming:
            self.put()
        self.source.drain()
        self.home.log.append_watermark("Tick", END)
        self.home.drain()


def cut(rows: list[Row], formats: list[str], dice: Random) -> list[tuple[str, bytes]]:
    """The rows in files, in their order; some are empty."""
    found: list[tuple[str, bytes]] = []
    while rows:
        count, ending = dice.choice([0, 1, 4, 12]), dice.choice(formats)
        found.append((f"{len(found):03d}.{ending}", FORMATS[ending](rows[:count])))
        rows = rows[count:]
    return found


def expected(rows: list[Row], texts: list[str], folder: Path) -> list[list[Any]]:
    """What the reference makes of the rows of one load."""
    with Living(folder / "loaded", MemoryDisk(), now=START) as home:
        home.declare(DECLARED.format(""))
        home.load("Tick", rows)
        archive = home.log.archive
        world = World({"Tick": [as_micros(row) for row in archive.read_arrow(archive.snapshot("Tick")).to_pylist()]})
        found = []
        for text in texts:
            (query,) = home.workspace.parse(text).statements
            assert isinstance(query, s.Query)
            bound = home.workspace.bind(query)
            found.append(shown([r for r in evaluate(bound.plan, world, bound.upper, END) if r[TIME] <= END], bound))
    return found


@settings(max_examples=settings.default.max_examples)
@given(
    ROWS,
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(ACTIONS), min_size=8, max_size=32),
    st.integers(0, 2**16),
    st.sampled_from([40, 200, 1 << 20]),
    st.lists(st.sampled_from(sorted(FORMATS)), min_size=1, max_size=3),
)
def test_rows_from_files_are_those_of_the_same_rows_loaded(
    drawn: list[tuple[str | None, int | None, int]],
    texts: list[str],
    actions: list[str],
    seed: int,
    size: int,
    formats: list[str],
) -> None:
    dice = Random(seed)
    drawn = sorted(drawn, key=lambda row: row[2] / 2 + dice.choice([0, 0, 1, 2]))  # none later than max_delay
    rows = [{"k": k, "v": v, "at": moment(START + half * SECOND // 2)} for k, v, half in drawn]
    with ExitStack() as stack:
        for module, name, value in SMALL:
            stack.enter_context(patch.object(module, name, value))
        for of_sources in (file_reader, files):
            stack.enter_context(patch.object(of_sources, "PIECE_BYTES", size))
            stack.enter_context(patch.object(of_sources, "PIECE_ROWS", 2))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        life = Life(folder, cut(rows, formats, dice), texts, dice)
        for action in actions:
            life.do(action)
        life.end()
        archive = life.home.log.archive
        assert archive.describe("Tick").rows == len(rows)
        assert archive.read_rejected("Tick").num_rows == 0
        for number, wanted in enumerate(expected(rows, texts, folder)):
            (query,) = life.home.workspace.parse(texts[number]).statements
            assert isinstance(query, s.Query)
            made = shown(life.home.rows(str(number)), life.home.workspace.bind(query))
            assert made == wanted, texts[number]
            event("rows" if made else "no rows")
        life.home.close()
