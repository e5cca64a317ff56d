"""Laws of why events made no rows: what is told of an event agrees with the matches that the kernels find."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.columnar.reasons import FAILS, OVER, TAKEN, Examiner, Reasons
from presage.execution.steps import OperatorStates, StepContext, run
from presage.lang import parse
from presage.lang import syntax as s
from presage.live.program import Program, compile_program
from presage.operators.epl.nodes import PatternMatch
from presage.operators.epl.tracing import showing
from presage.operators.epl.why_not import why_pattern
from presage.operators.match.compile import match_kernel
from presage.operators.match.kernel.spec import Skip
from presage.operators.match.nodes import Match
from presage.operators.match.paths import Partition, Path
from presage.operators.match.stages import showing_rows
from presage.operators.match.why_not import why_match
from presage.operators.running import STEPS as OPERATORS
from presage.operators.trace_columns import bound_in
from presage.plan.nodes import SEQ, TIME, Node, Scan
from presage.workspace import Workspace

SECOND = 1_000_000
DECLARED = "CREATE STREAM Pulse (sensor STRING, v LONG, at TIMESTAMP) EVENT TIME at;"
PATTERNS = [
    "EVERY a=Pulse(v > 2) -> b=Pulse(sensor = a.sensor AND v > a.v) WHERE timer:within(3 sec)",
    "EVERY a=Pulse -> (b=Pulse(v = a.v + 1) AND NOT c=Pulse(v = 0))",
    "a=Pulse(v > 1) -> b=Pulse(sensor <> a.sensor)",
    "EVERY (a=Pulse(v > 1) -> b=Pulse(v < a.v) WHERE timer:within(2 sec))",
    "EVERY [2] a=Pulse(v > 1) -> b=Pulse(v > a[1].v)",
]
MATCHES = [
    "PARTITION BY sensor MEASURES A.v AS v PATTERN (A B+ C) DEFINE B AS B.v > PREV(B.v), C AS C.v < A.v",
    "MEASURES A.v AS v PATTERN (A B* C) WITHIN 3 sec DEFINE A AS A.v > 1, B AS B.v >= avg(A.v), C AS C.v = A.v",
    "MEASURES A.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) GAP 2 sec DEFINE A AS sum(A.v) < 6, B AS B.v > 2",
    "MEASURES A.v AS v PATTERN (A (B | C)+ D) DEFINE B AS B.v > LAST(C.v), C AS C.v < 3, D AS count(B.v) > 1",
]
pulses = st.lists(st.tuples(st.sampled_from("st"), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=12)


def program_of(query: str) -> tuple[Program, str]:
    workspace = Workspace([], ".", now=lambda: 0)
    workspace.check(DECLARED)
    (parsed,) = parse(query).statements
    assert isinstance(parsed, s.Query)
    bound = workspace.bind(parsed)
    return compile_program(bound, workspace.optimize(bound).plan, 1), query


def context_of(program: Program, world: list[tuple[str, int, int]]) -> tuple[StepContext, int]:
    """What reads a world, and the last of its numbers; time goes on by the third of each event."""
    times, now = [], 0
    for _, _, pause in world:
        now += pause * SECOND
        times.append(now)

    def read(scan: Scan) -> pa.Table:
        columns: dict[str, Any] = {
            "sensor": [sensor for sensor, _, _ in world],
            "v": pa.array([v for _, v, _ in world], pa.int64()),
            "at": pa.array(times, pa.timestamp("us", "UTC")),
        }
        named = {f.name: columns[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
        return pa.table({TIME: pa.array(times), SEQ: pa.array(range(1, len(world) + 1)), **named})

    made = StepContext(
        read,
        Evaluator({}),
        {},
        OPERATORS,
        program.places,
        OperatorStates(),
        watermark=now,
        inner_watermark=now,
        upper=None,
    )
    return made, len(world)


def find(program: Program, kind: type[Node]) -> Any:
    return next(node for node in program.plan.walk() if isinstance(node, kind))


def bindings(program: Program, node: Node, shown: Node, fields: Any, context: StepContext) -> list[dict[str, Any]]:
    """What a node's matches have bound, by a run of the node that shows it."""
    places = {**program.places, id(shown): program.places[id(node)]}
    table = run(shown, StepContext(**{**vars(context), "places": places, "compiled": {}})).table
    return table.select([field.name for field in fields]).to_pylist()  # type: ignore[no-any-return]


def told_of(reasons: Reasons) -> bool:
    return any(note.startswith("It is ") for note in reasons.notes)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(PATTERNS), pulses)
def test_what_is_told_of_an_event_of_a_pattern_agrees_with_the_matches(text: str, world: Any) -> None:
    program, query = program_of(f"SELECT b.sensor FROM PATTERN [ {text} ]")
    node = find(program, PatternMatch)
    shown, fields = showing(node, SEQ)
    context, count = context_of(program, world)
    rows = bindings(program, node, shown, fields, context)
    matched = {n for row in rows for _, n in bound_in(row)}
    for number in range(1, count + 1):
        context, _ = context_of(program, world)
        told = why_pattern(node, node, context, number, Examiner(context.evaluator, query))
        assert told_of(told) == (number in matched), told
        taken = [chance for chance in told.chances if chance.outcome == TAKEN]
        assert taken or number not in matched
        for chance in told.chances:
            failed = [answer for answer in chance.answers if answer.holds is False]
            assert bool(failed) == (chance.outcome == FAILS)
            assert (chance.outcome == OVER) <= chance.further.startswith("timer:within ended it")


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(MATCHES), pulses)
def test_what_is_told_of_a_row_of_match_recognize_agrees_with_the_matches(text: str, world: Any) -> None:
    program, query = program_of(f"SELECT v FROM Pulse MATCH_RECOGNIZE ( {text} )")
    node = find(program, Match)
    context, count = context_of(program, world)
    shown, fields = showing_rows(node, SEQ)
    rows = bindings(program, node, shown, fields, context)
    settled = [bound_in(row) for row in rows]
    for number in range(1, count + 1):
        context, _ = context_of(program, world)
        told = why_match(node, node, context, number, Examiner(context.evaluator, query))
        labels = sorted(note.split()[2] for note in told.notes if note.startswith("It is "))
        assert labels == sorted(label for bound in settled for label, found in bound if found == number)
        for chance in told.chances:
            assert (chance.outcome == FAILS) == any(answer.holds is False for answer in chance.answers)
            assert chance.further or chance.outcome != TAKEN


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MATCHES), pulses)
def test_a_way_through_the_pattern_is_found_exactly_from_the_rows_where_a_match_begins(text: str, world: Any) -> None:
    alone = [("s", v, pause) for _, v, pause in world]  # one partition
    program, query = program_of(f"SELECT v FROM Pulse MATCH_RECOGNIZE ( {text} )")
    node = find(program, Match)
    context, count = context_of(program, alone)
    raw = run(node.input, context).table
    evaluated = dict(
        zip(
            [n.name for n in node.prepared],
            context.evaluator.columns([n.expr for n in node.prepared], raw),
            strict=True,
        )
    )
    table = pa.table({TIME: raw[TIME], SEQ: raw[SEQ], **evaluated})
    kernel = match_kernel(node, {})
    spec = kernel.spec
    every = type(kernel)(type(spec)(**{**vars(spec), "skip": Skip("to_next"), "keys": ()}), kernel.oracle)
    _, made = every.step(every.initial(), table, 10**15, end=True)
    begins = set(made["_first"].to_pylist())
    partition = Partition(node, spec, table, raw, Examiner(context.evaluator, query))
    found = set()
    for start in range(count):
        paths: list[Path] = partition.taken([], start, True)
        row = start
        while paths and not any(map(partition.may_end, paths)) and row + 1 < count:
            row += 1
            paths = partition.taken(paths, row, False)
        if any(map(partition.may_end, paths)):
            found.add(start + 1)
    assert found == begins
