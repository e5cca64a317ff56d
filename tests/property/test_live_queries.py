"""Stepped = bounded: random queries over random worlds, however arrival and time are cut into batches, with the state
through bytes in between, have the rows of the reference, and at each moment a prefix of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.execution.steps import OperatorStates, StepContext, run_root, schema_of
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.program import Program, compile_program
from presage.model.arrow import to_arrow
from presage.model.operator_state import State
from presage.model.time import to_micros
from presage.operators.running import STEPS as OPERATORS
from presage.operators.windows.rules import RULES as WINDOWS
from presage.optimize import in_order, optimize
from presage.plan.nodes import SEQ, TIME, Scan
from presage.plan.query import BoundQuery
from property.query_texts import queries, worlds
from property.test_optimizer import CATALOG, bind, comparable
from reference.plans import Row, World, evaluate, inside

Place = tuple[int, int]  # position, clock


@st.composite
def batches(draw: st.DrawFn, arrivals: int) -> list[tuple[int, int]]:
    """Positions at which batches end, rising, each with how far behind what is safe its clock stays (microseconds)."""
    ends = sorted(draw(st.lists(st.integers(0, arrivals), max_size=4)))
    return [(end, draw(st.sampled_from([0, 0, 1, 500_000, 1_500_000]))) for end in ends]


class Stepper:
    """A program over a world in memory."""

    def __init__(self, query: BoundQuery, program: Program, world: World, shard: int, shards: int) -> None:
        self.query, self.program, self.world = query, program, world
        self.relations = {
            name: pa.Table.from_pylist(
                rows, pa.schema([(a.name, to_arrow(a.type)) for a in CATALOG.relations[name].attributes])
            )
            for name, rows in world.relations.items()
        }
        self.evaluator = Evaluator(self.relations)
        self.states: dict[str, bytes] = {}
        self.compiled: dict[Any, Any] = {}
        self.place: Place = (0, NOTHING_KNOWN)
        self.shard, self.shards = shard, shards

    def step(self, place: Place, clock: int, inner: int, end: bool) -> list[Row]:
        operator_states = OperatorStates({name: State.from_bytes(data) for name, data in self.states.items()})
        before = self.place
        program = self.program

        def read(scan: Scan) -> pa.Table:
            rows = []
            for e in self.world.streams[scan.stream]:
                new = e[SEQ] <= place[0] and e[TIME] <= place[1]
                old = e[SEQ] <= before[0] and e[TIME] <= before[1]
                if new and not old and inside(e, scan.time):
                    named = {f.name: e[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
                    rows.append({TIME: e[TIME], SEQ: e[SEQ], **named})
            return pa.Table.from_pylist(rows, schema_of(scan.columns))

        context = StepContext(
            read,
            self.evaluator,
            self.relations,
            OPERATORS,
            program.places,
            operator_states,
            clock,
            inner,
            program.upper,
            end,
            self.shard,
            self.shards,
            self.compiled,
        )
        made = run_root(program.plan, context).table
        self.states = {name: state.to_bytes() for name, state in operator_states.by_place.items()}
        self.place = place
        order = (TIME, SEQ, *program.plan.order)
        return [dict(r) for r in sorted_table(made, order).to_pylist()]


def run(
    query: BoundQuery, program: Program, world: World, cut: list[tuple[int, int]], shard: int = 0
) -> list[list[Row]]:
    """Rows of each batch; the last batch ends the input."""
    stepper = Stepper(query, program, world, shard, program.shards)
    events = [e for name in program.streams for e in world.streams[name]]
    spoken = [e[TIME] for scan in program.scans for e in world.streams[scan.stream] if inside(e, scan.time)]
    last_spoken = max(spoken, default=NOTHING_KNOWN)
    last = last_spoken if query.upper is None else query.upper
    inner_last = max(last, last_spoken)
    made = []
    clock = NOTHING_KNOWN
    for position, behind in cut:
        coming = [e[TIME] for e in events if e[SEQ] > position]
        known = [e[TIME] for e in events if e[SEQ] <= position]
        if known:
            clock = max(clock, min([max(known) - behind, *coming]))
        if clock != NOTHING_KNOWN:
            made.append(stepper.step((position, clock), min(clock, last), min(clock, inner_last), False))
    made.append(stepper.step((2**60, 2**61), last, inner_last, True))
    return made


def shown(rows: list[Row], query: BoundQuery) -> list[list[Any]]:
    names = (TIME, *(c.name for c in query.columns))
    return [[comparable(as_micros(row[name])) for name in names] for row in rows]


def as_micros(value: Any) -> Any:
    if hasattr(value, "tzinfo"):
        return to_micros(value)
    if isinstance(value, dict):
        return {k: as_micros(v) for k, v in value.items()}
    return [as_micros(v) for v in value] if isinstance(value, list) else value


@settings(max_examples=100)
@given(queries(), worlds(), st.data())
def test_rows_do_not_depend_on_the_batches(text: str, world: World, data: st.DataObject) -> None:
    query = bind(text)
    rows = shown(evaluate(query.plan, world, query.upper), query)
    event("rows" if rows else "no rows")
    plan = optimize(query.plan, in_order(WINDOWS)).plan if data.draw(st.booleans()) else query.plan
    arrivals = max((e[SEQ] for events in world.streams.values() for e in events), default=0)
    cut = data.draw(batches(arrivals))
    shards = data.draw(st.sampled_from([1, 1, 2]))
    program = compile_program(query, plan, shards)
    event(f"shards: {program.shards}")
    if program.shards == 1:
        made = [row for batch in run(query, program, world, cut) for row in batch]
    else:
        parts = [run(query, program, world, cut, shard) for shard in range(program.shards)]
        order = (TIME, SEQ, *program.plan.order)
        made = []
        for together in zip(*parts, strict=True):
            made += sorted((r for part in together for r in part), key=lambda r: tuple(r[o] for o in order))
    assert shown(made, query) == rows
