"""The conformance cases on Spark: as bounded queries, and all of them at once as deployed statements in one job."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import settings

from conformance.cases import TIME, Case, cases, differences
from presage import Engine
from presage.lang import parse, print_script
from presage.lang import syntax as s
from presage.lang.pattern_syntax import EventTerm
from presage.model.time import format_timestamp, to_micros

LATER = 1_000_000  # milliseconds after the last event and the last bound, by which everything is settled


def groups() -> list[list[Case]]:
    """Cases with the same declarations and the same events: they share their streams."""
    keyed = sorted(cases(), key=lambda c: (c.declarations, repr(c.events)))
    return [list(found) for _, found in groupby(keyed, key=lambda c: (c.declarations, repr(c.events)))]


def loaded(engine: Engine, case: Case) -> None:
    engine.execute(case.declarations)
    for event in case.events:
        known = {k: v for k, v in event.items() if k not in ("type", "ts")}
        engine.load(event["type"], [known | {TIME: format_timestamp(event["ts"] * 1_000)}])


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: to_micros(v) if k == "at" else v for k, v in row.items()} for row in rows]


# Each query is a job of its own; a case of every sixth group shows that Catalyst prepares what the evaluator does. The
# profile "soak" takes all.
SOME = 600 // settings().max_examples or 1


@pytest.mark.parametrize("group", groups()[::SOME], ids=lambda g: g[0].id)
def test_a_bounded_query_gives_the_rows_of_the_case(group: list[Case], spark: Any) -> None:
    with Engine(spark=spark) as engine:
        loaded(engine, group[0])
        for number, case in enumerate(group):
            in_this_process = "== Place ==" in engine.explain(case.query)
            if in_this_process:
                rows = shown(engine.query(case.query).to_arrow().to_pylist())
                assert differences(case, rows) == "", case.query
            if number == 0:
                result = engine.query(case.query)
                assert result.df is not None  # once that is asked for, the rows come from Spark's job as well
                assert differences(case, shown(result.to_arrow().to_pylist())) == "", case.query


def renamed(text: str, prefix: str) -> s.Statement:
    """The statement over streams whose names have a prefix; every other name stays."""
    (statement,) = parse(text).statements

    def change(node: Any) -> Any:
        if isinstance(node, s.FromItem | EventTerm) and node.name:
            node = (
                replace(node, name=prefix + node.name, alias=node.alias or node.name)
                if isinstance(node, s.FromItem)
                else replace(node, name=prefix + node.name)
            )
        if isinstance(node, s.Node):
            fields = {k: change(v) for k, v in vars(node).items() if isinstance(v, s.Node | tuple) and k != "span"}
            return replace(node, **{k: v for k, v in fields.items() if v is not getattr(node, k)})
        if isinstance(node, tuple) and not hasattr(node, "start"):
            return tuple(change(v) for v in node)
        return node

    return change(statement)


def bounded(statement: s.Statement, case: Case) -> s.Query:
    """With an upper bound, so that the deployed statement ends and its tails are settled."""
    assert isinstance(statement, s.Query)
    last = max((event["ts"] for event in case.events), default=0) * 1_000
    within = statement.within or s.WithinClause(None, None)
    low = within.low or s.Bound(0, inclusive=True)
    return replace(statement, within=s.WithinClause(low, within.high or s.Bound(last, inclusive=True)))


def prefixed(declarations: str, prefix: str) -> str:
    script = parse(declarations)
    made = [
        replace(d, name=prefix + d.name, inherits=tuple(prefix + b for b in d.inherits))
        for d in script.statements
        if isinstance(d, s.CreateType)
    ]
    return print_script(s.Script(tuple(made)))


@pytest.fixture
def engine(spark: Any) -> Iterator[Engine]:
    with Engine(spark=spark) as made:
        yield made


def test_all_cases_stand_in_one_job(engine: Engine) -> None:
    """One statement for each case that can stand, all deployed before the first event."""
    dice = random.Random(4)
    deployed: list[tuple[Case, Any]] = []
    waiting: list[tuple[int, str, dict[str, Any]]] = []
    ends: list[tuple[str, int]] = []
    for number, group in enumerate(groups()):
        chosen = [c for c in group if c.by_time]
        if not chosen:
            continue
        prefix = f"c{number}_"
        engine.execute(prefixed(group[0].declarations, prefix))
        for case in chosen:
            query = print_script(s.Script((bounded(renamed(case.query, prefix), case),)))
            deployed.append((case, engine.deploy(query, name=case.id)))
        for event in group[0].events:
            known = {k: v for k, v in event.items() if k not in ("type", "ts")}
            waiting.append((len(waiting), prefix + event["type"], known | {TIME: event["ts"] * 1_000}))
        last = max((e["ts"] for c in chosen for e in c.events), default=0)
        ends += [(prefix + name, last + LATER) for name in group[0].schemas]
    assert len(deployed) > 250
    _load_in_turns(engine, waiting, dice)
    far = max(end for _, end in ends) + 3_000_000_000
    for name, _ in ends:
        engine.advance(name, format_timestamp(far * 1_000))
    wrong = []
    for case, deployment in deployed:
        deployment.drain()
        found = differences(case, shown(deployment.results().to_arrow().to_pylist()))
        if found:
            wrong.append(f"{case.id}: {case.query}\n{found}")
    assert not wrong, f"{len(wrong)} of {len(deployed)}\n" + "\n\n".join(wrong[:5])


def _load_in_turns(engine: Engine, waiting: list[tuple[int, str, dict[str, Any]]], dice: random.Random) -> None:
    """The events of every stream in order, streams taking turns at random, a few events each."""
    by_group: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for _, stream, row in waiting:
        by_group.setdefault(stream.partition("_")[0], []).append((stream, row))
    while by_group:
        chosen = dice.choice(sorted(by_group))
        left = by_group[chosen]
        stream, run = next(groupby(left[: dice.randint(1, 6)], key=itemgetter(0)))
        several = [row | {TIME: format_timestamp(row[TIME])} for _, row in run]
        engine.load(stream, several)
        del left[: len(several)]
        if not left:
            del by_group[chosen]
