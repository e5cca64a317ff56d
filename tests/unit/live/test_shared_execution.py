"""Statements of one form step as one: which do, where their states lie, and what becomes of those that leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from presage.execution.stage import STATEMENT
from presage.live.result_slices import SharedRows
from presage.live.results import to_bytes
from presage.live.shared_execution import LEAST_MEMBERS
from presage.model.types import STRING
from presage.plan.nodes import Field
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at"
PAIRS = "SELECT a.n AS x, b.n + {c} AS y FROM PATTERN [ EVERY a=Tick(n = {c}) -> b=Tick(sym = a.sym AND n > {c}) ]"
MATCHES = "SELECT x FROM Tick MATCH_RECOGNIZE (MEASURES A.n AS x PATTERN (A B) DEFINE A AS A.n = {c}, B AS B.n > {c})"


def ticks(*rows: tuple[str, int, int]) -> list[dict[str, Any]]:
    return [{"sym": sym, "n": n, "at": f"2024-03-01T09:00:{second:02}Z"} for sym, n, second in rows]


def shared_groups(home: Living) -> list[set[str]]:
    """Names of the statements that share their states, group by group."""
    found: dict[str, set[str]] = {}
    for statement in home.deployments.job.statements.values():
        for group in statement.shared.values():
            found.setdefault(group, set()).add(statement.name)
    return sorted(found.values(), key=sorted)


@pytest.fixture
def home(tmp_path: Path) -> Any:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        yield home


@pytest.mark.parametrize("form", [PAIRS, MATCHES])
def test_statements_that_differ_in_constants_have_one_state(form: str, home: Living) -> None:
    for c in range(6):
        home.deploy(form.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 3, 2), ("b", 4, 3), ("a", 5, 4)))
    home.drain()
    assert shared_groups(home) == [{f"s{c}" for c in range(6)}]
    assert [len(home.rows(f"s{c}")) for c in range(6)] == ([0, 1, 0, 1, 0, 0] if form is PAIRS else [0, 1, 0, 1, 1, 0])
    job = home.deployments.job
    assert not any(s.states for s in job.statements.values())
    assert len(list(home.log.home.states.iterdir())) == 1
    sizes = [home.deployments[f"s{c}"].status.state_size for c in range(6)]
    assert min(sizes) == max(sizes) > 0


def test_open_matches_are_counted_for_each_statement(home: Living) -> None:
    for c in range(5):
        home.deploy(PAIRS.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 2, 1), ("b", 2, 2), ("a", 3, 3)))
    home.drain()
    assert [home.deployments[f"s{c}"].status.partial_matches for c in range(5)] == [0, 0, 1, 1, 0]


def test_constants_inside_a_condition_over_several_events_make_another_form(home: Living) -> None:
    text = "SELECT a.n AS x FROM PATTERN [ EVERY a=Tick(n = {c}) -> b=Tick(n - a.n > {d}) ]"
    for c in range(4):
        for d in range(2):
            home.deploy(text.format(c=c, d=d), f"s{c}{d}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 3, 2)))
    home.drain()
    assert shared_groups(home) == [{f"s{c}{d}" for c in range(4)} for d in range(2)]


def test_fewer_statements_than_a_family_needs_step_alone(home: Living) -> None:
    for c in range(LEAST_MEMBERS - 1):
        home.deploy(PAIRS.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 2, 2)))
    home.drain()
    assert shared_groups(home) == []
    assert home.rows("s1") == [{"x": 1, "y": 3, "at": home.rows("s1")[0]["at"]}]


def test_a_pattern_whose_start_has_a_time_steps_alone(home: Living) -> None:
    for c in range(5):
        home.deploy(f"SELECT a.n AS x FROM PATTERN [ a=Tick(n = {c}) OR timer:interval({c + 1} sec) ]", f"s{c}")
        home.deploy(f"SELECT a.n AS x FROM PATTERN [ a=Tick(n = {c}) WHERE timer:within(9 sec) ]", f"t{c}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 3, 8)))
    home.drain()
    assert shared_groups(home) == []


def test_who_joins_and_who_leaves_does_not_disturb_the_others(home: Living) -> None:
    for c in range(5):
        home.deploy(PAIRS.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 2, 2)))
    home.drain()
    home.stop("s1")
    home.deploy(PAIRS.format(c=2), "late")
    home.load("Tick", ticks(("a", 3, 3)))
    home.drain()
    assert shared_groups(home) == [{"s0", "s2", "s3", "s4", "late"}]
    assert len(home.rows("s1")) == 1
    assert len(home.rows("s2")) == 1
    assert home.rows("late") == []
    assert not home.deployments.job.find("s1").shared  # type: ignore[union-attr]


def test_who_fails_fails_alone_and_the_others_go_on(home: Living) -> None:
    text = "SELECT a.n AS x FROM PATTERN [ EVERY a=Tick(n >= {c}) -> [a.n:3] b=Tick(sym = 'b') UNTIL c=Tick(n = -1) ]"
    for c in range(5):
        home.deploy(text.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("b", 0, 2)))
    home.drain()
    states = [home.deployments[f"s{c}"].status.state for c in range(5)]
    assert states == ["failed", "running", "running", "running", "running"]
    assert "lower bound" in str(home.deployments["s0"].status.last_error)
    home.load("Tick", ticks(("a", -1, 3)))
    home.drain()
    assert shared_groups(home) == [{f"s{c}" for c in range(1, 5)}]
    assert len(home.rows("s1")) == 1


def test_a_family_lives_on_after_a_restart(tmp_path: Path) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(STREAM)
        for c in range(5):
            home.deploy(PAIRS.format(c=c), f"s{c}")
        home.load("Tick", ticks(("a", 1, 1)))
        home.drain()
        before = shared_groups(home)
    with Living(tmp_path / "home", disk) as home:
        home.load("Tick", ticks(("a", 4, 2)))
        home.drain()
        assert shared_groups(home) == before == [{f"s{c}" for c in range(5)}]
        assert [row["x"] for row in home.rows("s1")] == [1]


def test_a_lost_state_of_a_family_is_made_again_by_each_of_them(tmp_path: Path) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(STREAM)
        for c in range(5):
            home.deploy(PAIRS.format(c=c), f"s{c}")
        home.load("Tick", ticks(("a", 1, 1), ("a", 2, 2)))
        home.drain()
        (path,) = home.log.home.states.iterdir()
        path.write_bytes(path.read_bytes()[:-3] + b"???")
    with Living(tmp_path / "home", disk) as home:
        home.load("Tick", ticks(("a", 3, 3)))
        home.drain()
        assert [[row["x"] for row in home.rows(f"s{c}")] for c in range(5)] == [[], [1], [2], [], []]


FILTERS = "SELECT sym, {c} AS rule FROM Tick WHERE n > {c} AND sym = 'a'"
WINDOWS = "SELECT sum(n) AS total FROM Tick(n > {c})#length({size}) HAVING sum(n) > {c}"


def compiled(home: Living) -> int:
    """How many shared plans stepped in the last batch."""
    return len(home.deployments.job._runner._executions)


def test_filters_of_one_form_step_as_one_and_keep_nothing(home: Living) -> None:
    for c in range(6):
        home.deploy(FILTERS.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("a", 3, 2), ("b", 4, 3), ("a", 5, 4)))
    home.drain()
    assert compiled(home) == 1
    assert [[row["rule"] for row in home.rows(f"s{c}")] for c in range(6)] == [[0, 0, 0], [1, 1], [2, 2], [3], [4], []]
    assert shared_groups(home) == []
    assert not list(home.log.home.states.iterdir())


def test_filters_on_different_attributes_are_of_one_form(home: Living) -> None:
    for c in range(3):
        home.deploy(f"SELECT n FROM Tick WHERE n = {c}", f"n{c}")
        home.deploy(f"SELECT n FROM Tick WHERE sym = '{'abc'[c]}'", f"s{c}")
    home.load("Tick", ticks(("a", 1, 1), ("b", 2, 2)))
    home.drain()
    assert compiled(home) == 1
    assert [home.rows(name)[0]["n"] for name in ("n1", "s0", "n2", "s1")] == [1, 1, 2, 2]


def test_windows_of_different_sizes_have_one_state(home: Living) -> None:
    for c in range(5):
        home.deploy(WINDOWS.format(c=0, size=c + 1), f"s{c}")
    home.load("Tick", ticks(*(("a", 1, second) for second in range(1, 7))))
    home.drain()
    assert shared_groups(home) == [{f"s{c}" for c in range(5)}]
    assert [home.rows(f"s{c}")[-1]["total"] for c in range(5)] == [1, 2, 3, 4, 5]


def test_who_stopped_leaves_nothing_that_steps_on(home: Living, caplog: pytest.LogCaptureFixture) -> None:
    text = "SELECT count(*) + {c} AS x FROM Tick#time_batch({size} sec)"
    for c in range(5):
        home.deploy(text.format(c=c, size=c + 2), f"s{c}")
    home.load("Tick", ticks(("a", 1, 1)))
    home.drain()
    home.stop("s4")  # its batch is open, and it has the last number
    home.load("Tick", ticks(("a", 1, 30)))
    home.drain()
    assert shared_groups(home) == [{f"s{c}" for c in range(4)}]
    assert "one by one" not in caplog.text
    assert [row["x"] for row in home.rows("s3")] == [4]


def test_who_failed_and_comes_back_has_its_own_state_and_the_others_theirs(home: Living) -> None:
    text = "SELECT a.n AS x FROM PATTERN [ EVERY a=Tick(n >= {c}) -> [a.n:3] b=Tick(sym = 'b') UNTIL c=Tick(n = -1) ]"
    for c in range(6):
        home.deploy(text.format(c=c), f"s{c}")
    home.load("Tick", ticks(("a", 2, 1)))
    home.drain()
    home.load("Tick", ticks(("a", 0, 2), ("b", 1, 3)))
    home.drain()
    assert home.deployments["s0"].status.state == "failed"
    home.deployments["s0"].resume()
    home.load("Tick", ticks(("b", 1, 4), ("b", -1, 5)))
    home.drain()
    alone = [len(home.rows(f"s{c}")) for c in range(1, 6)]
    assert alone == [2, 1, 0, 0, 0]


def test_rows_are_packed_alike_together_and_alone() -> None:
    rows = pa.table({STATEMENT: [2, 1, 2], "_t": [5, 6, 4], "_seq": [1, 2, 3], "x": ["a", None, "cc"]})
    lot = SharedRows(rows, ("_t", "_seq"), (Field("x", STRING),))
    assert lot.slices[2].table()["x"].to_pylist() == ["cc", "a"]
    assert (lot.slices[2].last_time, lot.slices[1].num_rows) == (5, 1)
    for cut in lot.slices.values():
        assert cut.packed() == to_bytes(cut.table().select(["x"]))
