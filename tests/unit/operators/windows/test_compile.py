"""Logical nodes become the tables of kernels: what Catalyst prepares, what the kernel gets, what is left to check."""

from __future__ import annotations

from presage.operators.windows.compile import compile_aggregate, compile_join, peel_window
from presage.operators.windows.kernel import spec
from presage.operators.windows.nodes import Aggregate, WindowJoin
from presage.operators.windows.rules import RULES as WINDOWS
from presage.optimize import in_order, optimize
from presage.plan.display import show
from presage.plan.nodes import Filter, Named, Node, Scan
from unit.declared import bind


def find(text: str, kind: type[Node], optimized: bool = True) -> Node:
    plan = bind(text).plan
    plan = optimize(plan, in_order(WINDOWS)).plan if optimized else plan
    return next(n for n in plan.walk() if isinstance(n, kind))


def prepared(columns: tuple[Named, ...]) -> dict[str, str]:
    return {c.name: show(c.expr) for c in columns}


def test_an_aggregate_gets_its_arguments_groups_and_window_as_columns() -> None:
    node = find(
        "SELECT camera, sum(x * 2) AS s, count(*) AS c FROM Motion#unique(y) AS m GROUP BY camera, n", Aggregate
    )
    stage = compile_aggregate(node)
    assert prepared(stage.prepared) == {"_g0": "m.camera", "_g1": "m.n", "_by_0": "m.y", "_x0": "m.x * 2.0"}
    assert stage.window == spec.Window("unique", by=("_by_0",))
    assert stage.group_by == ("_g0", "_g1")
    assert stage.aggregates == (
        spec.Aggregate("sum", "_x0", "_a0", shown="m.x * 2.0"),
        spec.Aggregate("count", None, "_a1"),
    )
    assert (stage.carry, stage.grouped, stage.partition) == (("m.camera",), True, ())
    assert [f.name for f in stage.outputs] == ["m.camera", "_a0", "_a1"]
    assert isinstance(stage.input, Scan)


def test_a_condition_above_a_window_of_events_goes_into_the_kernel() -> None:
    node = find("SELECT sum(x) AS s FROM Motion#length(3) AS m WHERE y > 1 AND n < 2", Aggregate)
    stage = compile_aggregate(node)
    assert prepared(stage.prepared)[spec.PASS] == "m.y > 1.0 AND m.n < 2"
    assert isinstance(stage.input, Scan)


def test_a_condition_without_a_window_stays_with_Spark() -> None:
    stage = compile_aggregate(find("SELECT sum(x) AS s FROM Motion AS m WHERE y > 1", Aggregate))
    assert spec.PASS not in prepared(stage.prepared)
    assert isinstance(stage.input, Filter)


def test_the_key_of_a_partition_is_a_prepared_group() -> None:
    text = "SELECT count(*) AS c FROM Motion#groupwin(camera)#length(2) GROUP BY n, camera"
    stage = compile_aggregate(find(text, Aggregate))
    assert stage.partition == ("_g1",)


def test_equalities_of_a_join_become_links_and_the_rest_is_checked_after_it() -> None:
    text = (
        "SELECT a.x FROM Motion#time(1 sec) AS a JOIN Fault#length(2) AS b "
        "ON a.camera = b.camera AND a.at = b.at AND a.x > b.spot.floor WHERE b.log = 'l'"
    )
    stage = compile_join(find(text, WindowJoin))
    assert stage.links == ((0, ("_k0l", "_k1l"), 1, ("_k0r", "_k1r")),)
    assert show(stage.residual) == "a.x > b.spot.floor"
    left, right = stage.sources
    assert prepared(left.prepared) == {"_k0l": "a.camera", "_k1l": "a.at"}
    assert prepared(right.prepared) == {"_k0r": "b.camera", "_k1r": "b.at", spec.PASS: "b.log = 'l'"}
    assert (left.window, right.window) == (spec.Window("time", 1_000_000), spec.Window("length", 2))
    assert (any(source.partition for source in stage.sources), stage.has_pass) == (False, True)


def test_one_equality_written_twice_is_linked_twice_and_lost_never() -> None:
    text = "SELECT a.x FROM Motion AS a JOIN Fault AS b ON a.camera = b.camera AND a.camera = b.camera"
    stage = compile_join(find(text, WindowJoin))
    assert stage.links == ((0, ("_k0l", "_k1l"), 1, ("_k0r", "_k1r")),)
    assert stage.residual is None


def test_links_of_three_sources_name_their_pairs() -> None:
    text = "SELECT a.x FROM Motion AS a, Fault AS b, Place AS p WHERE p.camera = b.camera AND a.camera = b.camera"
    stage = compile_join(find(text, WindowJoin))
    assert [(left, right) for left, _, right, _ in stage.links] == [(2, 1), (0, 1)]
    assert [s.static for s in stage.sources] == [False, False, True]
    assert [s.partition for s in stage.sources] == [("_p0_0",), ("_p1_0",), ()]
    assert any(source.partition for source in stage.sources)


def test_without_a_rule_a_join_is_one_piece() -> None:
    stage = compile_join(find("SELECT a.x FROM Motion AS a JOIN Fault AS b ON a.camera = b.camera", WindowJoin, False))
    assert not any(source.partition for source in stage.sources)
    assert [s.partition for s in stage.sources] == [(), ()]


def test_peeling_takes_all_conditions_above_a_window_in_their_order() -> None:
    plan = bind("SELECT x FROM Motion#length(2) WHERE x > 1 AND y > 2").plan
    (above,) = [n for n in plan.walk() if isinstance(n, Filter)]
    below, passing, window = peel_window(above)
    assert isinstance(below, Scan)
    assert [show(c) for c in passing] == ["Motion.x > 1.0", "Motion.y > 2.0"]
    assert window.spelling() == "#length(2)"
