"""RECALL in deployed statements: each step takes new events and lets one set of them read one chunk of history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.rows import changes, ordinals
from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.errors import error
from presage.execution.steps import Rows, StepContext, run, schema_of
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.model.operator_state import State
from presage.model.time import wall_clock
from presage.operators.recall.background_reads import BackgroundReads
from presage.operators.recall.executor import REACHED, Archive, RecallExecutor, has_tasks
from presage.operators.recall.nodes import Recall, Retained, Similar
from presage.operators.recall.past_events import RECENT_UNITS, SLOT, Past
from presage.operators.recall.past_index import PastIndex
from presage.plan.expr import Expr
from presage.plan.nodes import SEQ, TIME, Field, Node, Scan, Stamp, Trait, traits_of

WAITING = "waiting"  # the state of events that wait until their contexts are complete
# The state of a window of the present.
WINDOW, ROWS = "window of the present", "rows"


@dataclass(frozen=True)
class Unread:
    """A Recall of which only the events are a statement's input: it does not wait for history."""

    recall: Recall


@dataclass(frozen=True)
class Recalling(Node):
    """A Recall in a deployed statement. `in_order`: its rows become events of a stream, in order of time; else the rows
    of an event are reported as soon as it is answered."""

    input: Node
    unread: Unread
    present: tuple[Node, ...] = ()  # what a revision is joined with; their watermarks count as those of the events
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

    @property
    def similars(self) -> list[Similar]:
        return [recall for recall in self.unread.recall.recalls if isinstance(recall, Similar)]

    @property
    def traits(self) -> Trait:
        traits = Trait.READS_HISTORY
        traits |= Trait.NONE if self.unread.recall.final else Trait.REVISES
        traits |= Trait.LAGS if self.in_order else Trait.NONE
        return traits | (Trait.LOOKS_BACK if self.similars else Trait.NONE)

    @property
    def side_streams(self) -> frozenset[str]:
        """The streams of contexts."""
        numbers = frozenset[int]().union(*(similar.numbers for similar in self.similars))
        histories = [self.unread.recall.histories[i] for i in numbers]
        return frozenset(n.stream for history in histories for n in history.walk() if isinstance(n, Scan))

    def label(self) -> str:
        return self.unread.recall.label()


def deployed_plan(plan: Node, as_events: bool) -> Node:
    """The plan of a deployed statement; `as_events`: its rows become events of a stream."""
    plan = _deployed(plan)
    top = plan.input if isinstance(plan, Stamp) else plan
    if as_events or not isinstance(top, Recalling):
        return plan
    unordered = replace(top, in_order=False)
    return replace(plan, input=unordered) if isinstance(plan, Stamp) else unordered


def _deployed(node: Node) -> Node:
    if not isinstance(node, Recall):
        return node.map_inputs(_deployed)
    # The plans of history stay as they are: they run as queries.
    return Recalling(_deployed(node.input), Unread(node), node.present)


def described(plan: Node) -> list[str]:
    """How a deployed statement reads past events, for EXPLAIN."""
    if Trait.LOOKS_BACK not in traits_of(plan):
        return []
    streams = ", ".join(sorted(frozenset[str]().union(*(node.side_streams for node in plan.walk()))))
    waits = f"; an event waits until the time of {streams} has passed it" if streams else ""
    return [
        f"past events: computed newest first, {RECENT_UNITS} chunks in the background, then a sample of what is older, "
        f"to know how rare terms are, and older ones when an event asks for them; kept with their contexts{waits}"
    ]


def run_recalling(node: Recalling, context: StepContext) -> Rows:
    """The revisions of this step."""
    recall = node.unread.recall
    rows = run(node.input, context)
    similar = bool(node.similars)
    if similar:
        # More events may arrive at the time of the watermark, and they belong to the contexts of that time.
        rows = Rows(context.hold(node, rows, rows.watermark - 1, WAITING).table, rows.watermark)
    place = str(context.places[id(node)])
    state = context.states.by_place.get(place)
    present = tuple(run(each, context).table for each in node.present)
    made = [schema_of(recall.columns, recall.order).empty_table()]
    if state is not None and not (node.in_order or rows.table.num_rows or context.commands or has_tasks(state)):
        return Rows(made[0], rows.watermark)
    executor = _executor(node, context, present)
    executor.apply(context.commands)
    executor.take(rows.table, _horizon(rows, context))
    if context.end:
        executor.end()
    # A statement that ends is answered at once. A thread starts the next chunk when the last one is merged.
    turns = 1 if executor.later is None else 2
    while (turn := executor.turn(wake=context.end)) is not None:
        made.append(turn.select(made[0].column_names).cast(made[0].schema))
        if not context.end and len(made) > turns:
            break
    # Events at the time of the watermark wait for their contexts.
    revisions = Rows(pa.concat_tables(made), rows.watermark - 1 if similar and not context.end else rows.watermark)
    if node.in_order:
        reached = state.numbers.get(REACHED) if state is not None else None
        revisions = _in_order(node, revisions, executor, reached, context)
    if state is not None or executor.cohorts or executor.past is not None or node.in_order:
        context.states.put(place, executor.state(revisions.watermark))
    if executor.past is not None:
        for name, piece in executor.past.changes().items():
            context.states.put(f"{place}{name}", piece)
    return revisions


def _in_order(node: Recalling, rows: Rows, executor: RecallExecutor, reached: int | None, context: StepContext) -> Rows:
    """The rows before the oldest open event, which is the watermark; those after it wait."""
    bound = rows.watermark if executor.oldest is None or context.end else min(rows.watermark, executor.oldest - 1)
    held = context.hold(node, rows, bound, "h")
    # An event that is late within the time that was reached may lower the bound; the watermark never decreases.
    return Rows(held.table, max(bound, NOTHING_KNOWN if reached is None else reached))


def _executor(node: Recalling, context: StepContext, present: tuple[pa.Table, ...]) -> RecallExecutor:
    """The executor with the state of the last step. `present`: what a revision is joined with now."""
    if context.histories is None:
        raise error("INTERNAL", what="a statement with RECALL without an archive")
    recall = node.unread.recall
    archive: Callable[[], Archive] = cache(lambda: context.histories(recall).with_present(present))  # type: ignore[misc]
    similars = node.similars
    index, reads = context.once(node, lambda: (PastIndex(similars), BackgroundReads()))
    past = Past(recall, context.evaluator, index) if similars else None
    # A statement that ends waits for its answers.
    later = None if context.end else context.read_later
    executor = RecallExecutor(recall, context.evaluator, archive, wall_clock, past, reads, later)
    place = str(context.places[id(node)])
    state = context.states.by_place.get(place)
    if state is not None:
        prefix = f"{place}{SLOT}"
        names = [name for name in context.states.by_place if name.startswith(prefix)]
        executor.restore(state, {name.removeprefix(place): context.states.by_place[name] for name in names})
    return executor


def _horizon(rows: Rows, context: StepContext) -> int:
    """Events before it cannot change any more."""
    if not context.end or not rows.table.num_rows:
        return rows.watermark
    return max(rows.watermark, int(rows.table[TIME].to_numpy().max()) + 1)


def run_retained(node: Retained, context: StepContext) -> Rows:
    """What the window holds now, which is also its state."""
    rows = run(node.input, context)
    place = str(context.places[id(node)])
    state = context.states.by_place.get(place)
    table = rows.table if state is None else pa.concat_tables([state.tables[ROWS], rows.table])
    held = present_rows(node, table, rows.watermark, context.end, context.evaluator)
    if state is not None or held.num_rows:
        context.states.put(place, State(WINDOW, {ROWS: held}))
    return Rows(held, rows.watermark)


def present_rows(node: Retained, rows: pa.Table, clock: int, end: bool, evaluator: Evaluator) -> pa.Table:
    """The rows that a window holds at the watermark `clock`, in order. `end`: it is at least the last of the times."""
    rows = sorted_table(rows, (TIME, SEQ, *node.order))
    if end and rows.num_rows:
        clock = max(clock, int(rows[TIME][-1].as_py()))
    if node.span is not None:
        rows = rows.filter(pa.array(rows[TIME].to_numpy() > clock - node.span))
    if node.most is None or not rows.num_rows:
        return rows
    keys = [pa.chunked_array([key]) for key in evaluator.columns(list(node.keys), rows)]
    codes, _ = equality_codes(keys, rows.num_rows)
    order = np.argsort(codes if node.oldest else codes[::-1], kind="stable")
    order = order if node.oldest else rows.num_rows - 1 - order
    held = order[ordinals(changes([codes[order]], len(order))) < node.most]
    return rows.take(pa.array(np.sort(held)))


OPERATORS: dict[type[Node], Callable[..., Rows]] = {Recalling: run_recalling, Retained: run_retained}
