"""Optimized = unoptimized: every rule, alone and with others, keeps all rows of random queries over random worlds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.lang import parse
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.types import ArrayOf, DataType, StructOf
from presage.operators.windows.nodes import Windowed
from presage.operators.windows.rules import RULES as WINDOWS
from presage.optimize import Rule, in_order, optimize
from presage.plan.nodes import SEQ, TIME, Node, RelationScan
from presage.plan.query import BoundQuery
from property.query_texts import queries, workspace, worlds
from reference.plans import Row, World, evaluate, peel

WORKSPACE = workspace()
RULES = in_order(WINDOWS)
CATALOG = WORKSPACE.catalog
PYTHON_TYPES = {t.STRING: str, t.INT: int, t.LONG: int, t.DOUBLE: float, t.BOOLEAN: bool, t.TIMESTAMP: int}


def bind(text: str) -> BoundQuery:
    """The plan of the last statement; an INSERT INTO before it is declared for this text alone."""
    WORKSPACE.catalog = CATALOG
    *before, last = parse(text).statements
    for statement in before:
        WORKSPACE.catalog = WORKSPACE.declare(statement)
    assert isinstance(last, s.Query)
    return WORKSPACE.bind(last)


def shown(rows: list[Row], node: Node) -> list[list[Any]]:
    """What a user can see of the rows, and when they came; NaN equal to itself, sums equal up to rounding."""
    return [[comparable(row[name]) for name in (TIME, SEQ, *(c.name for c in node.columns))] for row in rows]


def comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.9g}") + 0.0
    if isinstance(value, dict):
        return {name: comparable(v) for name, v in value.items()}
    return list(map(comparable, value)) if isinstance(value, list) else value


@settings(max_examples=80)
@given(queries(), worlds())
def test_the_optimized_plan_has_the_rows_of_the_plan(text: str, world: World) -> None:
    query = bind(text)
    rows = evaluate(query.plan, world, query.upper)
    event("rows" if rows else "no rows")
    optimized = optimize(query.plan, RULES)
    event(f"rules: {', '.join(optimized.applied)}")
    assert shown(evaluate(optimized.plan, world, query.upper), query.plan) == shown(rows, query.plan)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@settings(max_examples=25)
@given(text=queries(), world=worlds(), others=st.lists(st.sampled_from(RULES), max_size=2))
def test_a_rule_keeps_the_rows_by_itself_and_after_any_others(
    rule: Rule, text: str, world: World, others: list[Rule]
) -> None:
    query = bind(text)
    before = optimize(query.plan, others).plan
    after = rule.apply(before)
    if after == before:
        return
    assert shown(evaluate(after, world, query.upper), query.plan) == shown(
        evaluate(before, world, query.upper), query.plan
    )


@settings(max_examples=60)
@given(queries())
def test_a_second_pass_finds_nothing_to_do(text: str) -> None:
    once = optimize(bind(text).plan, RULES).plan
    assert optimize(once, RULES).applied == ()


@settings(max_examples=25)
@given(queries(), worlds())
def test_rows_are_what_each_node_declares(text: str, world: World) -> None:
    query = bind(text)
    optimized = optimize(query.plan, RULES).plan
    assert (
        [c.name for c in query.plan.columns] == [c.name for c in query.columns] == [c.name for c in optimized.columns]
    )
    for node in (query.plan, optimized):
        for below in node.walk():
            # A window by itself has no rows of its own: who looks into it decides which.
            if isinstance(below, RelationScan) or isinstance(peel(below)[1], Windowed):
                continue
            declared = {c.name: c.type for c in below.columns}
            for row in evaluate(below, world, query.upper):
                assert set(row) == {TIME, SEQ, *below.order, *declared}
                assert all(fits(row[name], data_type) for name, data_type in declared.items())


def fits(value: Any, data_type: DataType) -> bool:
    if value is None:
        return True
    if isinstance(data_type, ArrayOf):
        return all(fits(v, data_type.element) for v in value)
    if isinstance(data_type, StructOf):
        return list(value) == [n for n, _ in data_type.fields] and all(fits(value[n], f) for n, f in data_type.fields)
    return data_type != t.NULL and type(value) is PYTHON_TYPES[data_type]
