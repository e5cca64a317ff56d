"""The standing driver of RECALL: each step takes in new events and lets one set of them read one span of history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from presage.columnar.steps import Rows, StepContext, run, schema_of
from presage.errors import error
from presage.model.state import State
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Node, Stamp
from presage.plan.retained import Retained
from presage.recall.desk import Archive, Desk
from presage.recall.nodes import Recall, Similar
from presage.recall.retained import held_rows

STATEFUL: tuple[type[Node], ...] = ()
# The state of a window that is looked into.
WINDOW, ROWS = "window of the present", "rows"


@dataclass(frozen=True)
class Unread:
    """A Recall of which only the events are a statement's input: history is not waited for, it is there."""

    recall: Recall


@dataclass(frozen=True)
class Recalling(Node):
    """A Recall in a standing statement."""

    input: Node
    unread: Unread
    present: tuple[Node, ...] = ()  # what a revision meets as it is now: it is waited for, as the events are

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


def standing(plan: Node) -> Node:
    """The plan of a standing statement."""
    return plan.rewrite(lambda node: _standing(node) if isinstance(node, Recall) else node)


def _standing(node: Recall) -> Node:
    if any(isinstance(recall, Similar) for recall in node.recalls):
        raise error("UNSUPPORTED", what="RECALL SIMILAR", where="in a statement that stands",
                    fix="ask it as a query, over the events so far")  # fmt: skip
    return Recalling(node.input, Unread(node), node.present)


def has_recall(plan: Node) -> bool:
    """Of a plan as it is bound."""
    return any(isinstance(node, Recall) for node in plan.walk())


def recalls_below(plan: Node) -> bool:
    """Whether others take in what a RECALL makes, whose rows come later than their time."""
    top = plan.input if isinstance(plan, Stamp) else plan
    return any(has_recall(node) for node in (top.inputs if isinstance(top, Recall) else (top,)))


def reads_clock(plan: Node) -> bool:
    """Whether rows of a bounded query depend on when exactly its time stops."""
    return any(isinstance(node, Retained) and node.span is not None for node in plan.walk())


def recalls(plan: Node) -> bool:
    """Of the plan of a standing statement."""
    return any(isinstance(node, Recalling) for node in plan.walk())


def run_recalling(node: Recalling, context: StepContext) -> Rows:
    """The revisions that this step makes."""
    recall = node.unread.recall
    rows = run(node.input, context)
    place = str(context.places[id(node)])
    known = context.book.states.get(place)
    if context.histories is None:
        raise error("INTERNAL", what="a statement with RECALL where there is no archive to ask")
    present = tuple(run(each, context).table for each in node.present)
    archive: Callable[[], Archive] = _once(lambda: context.histories(recall).beside(present))  # type: ignore[misc]
    desk = Desk(recall, context.evaluator, archive, lambda: time.time_ns() // 1_000)
    if known is not None:
        desk.restore(known)
    desk.hear(context.said)
    desk.take(rows.table)
    made = [schema_of(recall.columns, recall.order).empty_table()]
    # A statement that ends is answered at once.
    while (turn := desk.turn()) is not None:
        made.append(turn.select(made[0].column_names).cast(made[0].schema))
        if not context.end:
            break
    if known is not None or desk.cohorts:
        context.book.put(place, desk.state())
    return Rows(pa.concat_tables(made), rows.clock)


def _once(make: Callable[[], Archive]) -> Callable[[], Archive]:
    kept: list[Archive] = []

    def get() -> Archive:
        if not kept:
            kept.append(make())
        return kept[0]

    return get


def run_retained(node: Retained, context: StepContext) -> Rows:
    """What the window holds now; no more than that is kept."""
    rows = run(node.input, context)
    place = str(context.places[id(node)])
    known = context.book.states.get(place)
    table = rows.table if known is None else pa.concat_tables([known.tables[ROWS], rows.table])
    kept = held_rows(node, table, rows.clock, context.end, context.evaluator)
    if known is not None or kept.num_rows:
        context.book.put(place, State(WINDOW, {ROWS: kept}))
    return Rows(kept, rows.clock)


OPERATORS: dict[type[Node], Callable[..., Rows]] = {Recalling: run_recalling, Retained: run_retained}
