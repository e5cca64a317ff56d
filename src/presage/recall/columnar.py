"""The standing driver of RECALL: each step takes in new events and lets one set of them read one span of history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from presage.columnar.holding import NOTHING_KNOWN
from presage.columnar.steps import Rows, StepContext, run, schema_of
from presage.errors import error
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Node, Stamp
from presage.recall.desk import REACHED, Archive, Desk
from presage.recall.nodes import Recall, Similar

STATEFUL: tuple[type[Node], ...] = ()


@dataclass(frozen=True)
class Unread:
    """A Recall of which only the events are a statement's input: history is not waited for, it is there."""

    recall: Recall


@dataclass(frozen=True)
class Recalling(Node):
    """A Recall in a standing statement. `in_order`: others take in its rows as events, which come in the order of time;
    else each event is told of as soon as it is answered."""

    input: Node
    unread: Unread
    in_order: bool = True

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.unread.recall.columns

    @property
    def depth(self) -> int:
        return self.unread.recall.depth

    def expressions(self) -> tuple[Expr, ...]:
        recall = self.unread.recall
        return (*recall.expressions(), *(expr for one in recall.recalls for expr in one.expressions()))

    def label(self) -> str:
        return self.unread.recall.label()


def standing(plan: Node, as_events: bool) -> Node:
    """The plan of a standing statement; `as_events`: its rows become events of a stream."""
    plan = _standing(plan)
    top = plan.input if isinstance(plan, Stamp) else plan
    if as_events or not isinstance(top, Recalling):
        return plan
    told = replace(top, in_order=False)
    return replace(plan, input=told) if isinstance(plan, Stamp) else told


def _standing(node: Node) -> Node:
    if not isinstance(node, Recall):
        return node.map_inputs(_standing)
    if any(isinstance(recall, Similar) for recall in node.recalls):
        raise error("UNSUPPORTED", what="RECALL SIMILAR", where="in a statement that stands",
                    fix="ask it as a query, over the events so far")  # fmt: skip
    # What it reads of the past stays as it is: that is asked as a query.
    return Recalling(_standing(node.input), Unread(node))


def recalls(plan: Node) -> bool:
    """Of the plan of a standing statement."""
    return any(isinstance(node, Recalling) for node in plan.walk())


def lags(plan: Node) -> bool:
    """Whether rows come later than their time although others take them in as events: they wait for answers."""
    return any(isinstance(node, Recalling) and node.in_order for node in plan.walk())


def wall_clock() -> int:
    """Microseconds."""
    return time.time_ns() // 1_000


def run_recalling(node: Recalling, context: StepContext) -> Rows:
    """The revisions that this step makes."""
    recall = node.unread.recall
    rows = run(node.input, context)
    place = str(context.places[id(node)])
    known = context.book.states.get(place)
    if context.histories is None:
        raise error("INTERNAL", what="a statement with RECALL where there is no archive to ask")
    archive: Callable[[], Archive] = _once(lambda: context.histories(recall))  # type: ignore[misc]
    desk = Desk(recall, context.evaluator, archive, wall_clock)
    if known is not None:
        desk.restore(known)
    desk.hear(context.said)
    desk.take(rows.table)
    made = [schema_of(recall.columns, recall.order).empty_table()]
    # A statement that ends is answered at once.
    while (turn := desk.turn(wake=context.end)) is not None:
        made.append(turn.select(made[0].column_names).cast(made[0].schema))
        if not context.end:
            break
    told = Rows(pa.concat_tables(made), rows.clock)
    if node.in_order:
        told = _in_order(node, told, desk, known.numbers.get(REACHED) if known is not None else None, context)
    if known is not None or desk.cohorts or node.in_order:
        context.book.put(place, desk.state(told.clock))
    return told


def _in_order(node: Recalling, told: Rows, desk: Desk, reached: int | None, context: StepContext) -> Rows:
    """The rows before the oldest event that is still open; those after it wait. Time is known up to there."""
    bound = told.clock if desk.oldest is None or context.end else min(told.clock, desk.oldest - 1)
    held = context.hold(node, told, bound, "h")
    # One that comes late within the moment that was reached opens that again, and time does not go back.
    return Rows(held.table, max(bound, NOTHING_KNOWN if reached is None else reached))


def _once(make: Callable[[], Archive]) -> Callable[[], Archive]:
    kept: list[Archive] = []

    def get() -> Archive:
        if not kept:
            kept.append(make())
        return kept[0]

    return get


OPERATORS: dict[type[Node], Callable[..., Rows]] = {Recalling: run_recalling}
