"""The standing driver of RECALL: each step takes in new events and lets one set of them read one span of history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from presage.errors import error
from presage.execution.steps import Rows, StepContext, run, schema_of
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.model.operator_state import State
from presage.operators.recall.background_reads import BackgroundReads
from presage.operators.recall.executor import REACHED, Archive, RecallExecutor, has_tasks
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.past_events import RECENT_UNITS, SLOT, Past
from presage.operators.recall.past_index import PastIndex
from presage.operators.recall.present_rows import present_rows
from presage.plan.expr import Expr
from presage.plan.nodes import TIME, Field, Node, Scan, Stamp
from presage.plan.retained import Retained

STATEFUL: tuple[type[Node], ...] = ()
WAITING = "waiting"  # the part of the state that holds events until their contexts are there
# The state of a window that is looked into.
WINDOW, ROWS = "window of the present", "rows"


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
    present: tuple[Node, ...] = ()  # what a revision meets as it is now: it is waited for, as the events are
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
    # What it reads of the past stays as it is: that is asked as a query.
    return Recalling(_standing(node.input), Unread(node), node.present)


def reads_clock(plan: Node) -> bool:
    """Whether rows of a bounded query depend on when exactly its time stops."""
    return any(isinstance(node, Retained) and node.span is not None for node in plan.walk())


def recalls(plan: Node) -> bool:
    """Of the plan of a standing statement."""
    return any(isinstance(node, Recalling) for node in plan.walk())


def revises(plan: Node) -> bool:
    """Whether rows depend on when history was read: those of answers over a part of it are told."""
    return any(isinstance(node, Recalling) and not node.unread.recall.final for node in plan.walk())


def lags(plan: Node) -> bool:
    """Whether rows come later than their time although others take them in as events: they wait for answers."""
    return any(isinstance(node, Recalling) and node.in_order for node in plan.walk())


def wall_clock() -> int:
    """Microseconds."""
    return time.time_ns() // 1_000


def has_similar(plan: Node) -> bool:
    """Of the plan of a standing statement: whether it compares events with past ones, which it computes by itself."""
    return any(isinstance(node, Recalling) and _similars(node) for node in plan.walk())


def has_timers(plan: Node) -> bool:
    """Whether events wait for time to go on: until all that belongs to their contexts is there."""
    return has_similar(plan)


def waited_for(plan: Node) -> frozenset[str]:
    """Streams whose time a standing statement waits for, beside those of its events: those of contexts."""
    found = set[str]()
    for node in plan.walk():
        if isinstance(node, Recalling):
            histories = node.unread.recall.histories
            numbers = frozenset[int]().union(*(similar.numbers for similar in _similars(node)))
            found |= {n.stream for i in numbers for n in histories[i].walk() if isinstance(n, Scan)}
    return frozenset(found)


def described(plan: Node) -> list[str]:
    """How past events come into a standing statement, for EXPLAIN."""
    if not has_similar(plan):
        return []
    streams = ", ".join(sorted(waited_for(plan)))
    waits = f"; an event waits until the time of {streams} has passed it" if streams else ""
    return [
        f"past events: computed newest first, {RECENT_UNITS} chunks in the background, then a sample of what is older, "
        f"to know how rare terms are, and older ones when an event asks for them; kept with their contexts{waits}"
    ]


def _similars(node: Recalling) -> list[Similar]:
    return [recall for recall in node.unread.recall.recalls if isinstance(recall, Similar)]


def run_recalling(node: Recalling, context: StepContext) -> Rows:
    """The revisions that this step makes."""
    recall = node.unread.recall
    rows = run(node.input, context)
    similar = bool(_similars(node))
    if similar:
        # At the very time of the clock there may be more to come, and it belongs to the contexts of that time.
        rows = Rows(context.hold(node, rows, rows.watermark - 1, WAITING).table, rows.watermark)
    place = str(context.places[id(node)])
    known = context.states.by_place.get(place)
    present = tuple(run(each, context).table for each in node.present)
    made = [schema_of(recall.columns, recall.order).empty_table()]
    if known is not None and not (node.in_order or rows.table.num_rows or context.recall_commands or has_tasks(known)):
        return Rows(made[0], rows.watermark)
    desk = _desk(node, context, present)
    desk.hear(context.recall_commands)
    desk.take(rows.table, _horizon(rows, context))
    if context.end:
        desk.end()
    # A statement that ends is answered at once. A thread begins with the next span when the last one is taken in.
    turns = 1 if desk.later is None else 2
    while (turn := desk.turn(wake=context.end)) is not None:
        made.append(turn.select(made[0].column_names).cast(made[0].schema))
        if not context.end and len(made) > turns:
            break
    # Those at the very time of the clock wait for their contexts.
    told = Rows(pa.concat_tables(made), rows.watermark - 1 if similar and not context.end else rows.watermark)
    if node.in_order:
        told = _in_order(node, told, desk, known.numbers.get(REACHED) if known is not None else None, context)
    if known is not None or desk.cohorts or desk.past is not None or node.in_order:
        context.states.put(place, desk.state(told.watermark))
    if desk.past is not None:
        for name, piece in desk.past.changes().items():
            context.states.put(f"{place}{name}", piece)
    return told


def _in_order(node: Recalling, told: Rows, desk: RecallExecutor, reached: int | None, context: StepContext) -> Rows:
    """The rows before the oldest event that is still open; those after it wait. Time is known up to there."""
    bound = told.watermark if desk.oldest is None or context.end else min(told.watermark, desk.oldest - 1)
    held = context.hold(node, told, bound, "h")
    # One that comes late within the moment that was reached opens that again, and time does not go back.
    return Rows(held.table, max(bound, NOTHING_KNOWN if reached is None else reached))


def _desk(node: Recalling, context: StepContext, present: tuple[pa.Table, ...]) -> RecallExecutor:
    """The desk as the last step has left it. `present`: what a revision meets now."""
    if context.histories is None:
        raise error("INTERNAL", what="a statement with RECALL where there is no archive to ask")
    recall = node.unread.recall
    archive: Callable[[], Archive] = _once(lambda: context.histories(recall).beside(present))  # type: ignore[misc]
    similars = _similars(node)
    held, beside = context.once(node, lambda: (PastIndex(similars), BackgroundReads()))
    past = Past(recall, context.evaluator, held) if similars else None
    # A statement that ends waits for its answers.
    later = None if context.end else context.read_later
    desk = RecallExecutor(recall, context.evaluator, archive, wall_clock, past, beside, later)
    place = str(context.places[id(node)])
    known = context.states.by_place.get(place)
    if known is not None:
        prefix = f"{place}{SLOT}"
        names = [name for name in context.states.by_place if name.startswith(prefix)]
        desk.restore(known, {name.removeprefix(place): context.states.by_place[name] for name in names})
    return desk


def _horizon(rows: Rows, context: StepContext) -> int:
    """What lies before it cannot change any more."""
    if not context.end or not rows.table.num_rows:
        return rows.watermark
    return max(rows.watermark, int(rows.table[TIME].to_numpy().max()) + 1)


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
    known = context.states.by_place.get(place)
    table = rows.table if known is None else pa.concat_tables([known.tables[ROWS], rows.table])
    kept = present_rows(node, table, rows.watermark, context.end, context.evaluator)
    if known is not None or kept.num_rows:
        context.states.put(place, State(WINDOW, {ROWS: kept}))
    return Rows(kept, rows.watermark)


OPERATORS: dict[type[Node], Callable[..., Rows]] = {Recalling: run_recalling, Retained: run_retained}
