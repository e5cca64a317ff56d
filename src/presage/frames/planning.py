"""The plan of a clause over a DataFrame: a stage, and how its rows come from the DataFrame and go back.

No Spark runs here: every mistake in the text is reported before a job is planned. `frames.batch` and `frames.stream`
interpret the stage. They are apart from `execution` because a DataFrame has no log: its columns keep types that the
language does not have, its rows have no arrival, and a stream's watermark and state are Spark's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql.types import StructType

from presage.errors import PresageError, error
from presage.execution.stage import Kernel, Resources, Stage, StageInput, renamed
from presage.frames.clause import parse_clause
from presage.frames.columns import ALIAS, FrameColumns, frame_columns
from presage.lang.match_syntax import MatchClause
from presage.model.catalog import Catalog
from presage.model.operator_state import State
from presage.model.types import TIMESTAMP
from presage.operators.match.bind import MatchInput, bind_match
from presage.operators.match.compile import match_kernel
from presage.operators.match.kernel.match import waits_for_time
from presage.operators.match.nodes import Match
from presage.plan.expr import ColumnRef, Expr
from presage.plan.nodes import SHOWN_TIME, TIME, Field, Named, Project, Scan


@dataclass(frozen=True)
class Output:
    """A column of the result: an expression over the kernel's columns; `place`: it is a column of the input as it was,
    in the input's own type."""

    name: str
    expr: Expr | None
    column: str = ""
    place: int | None = None


@dataclass(frozen=True)
class FramePlan:
    """`stage` has one input: its `prepared` columns are computed from single rows, its `carried` ones are columns of
    the DataFrame, named by place (`c0`). `order` are prepared columns with their direction (ascending); `timed`: the
    first of them is the event time; `only_order`: those that the kernel does not read.

    `reads_end`: rows depend on where time stops in all partitions. `waits`: whether time alone may yield rows from a
    state of the kernel. `identity` tells this stage from others; the checkpoint of a stream keeps its hash."""

    columns: FrameColumns
    stage: Stage
    order: tuple[tuple[str, bool], ...]
    timed: bool
    only_order: frozenset[str]
    outputs: tuple[Output, ...]
    reads_end: bool
    waits: Callable[[State], bool]
    identity: tuple[object, ...]

    @property
    def input(self) -> StageInput:
        return self.stage.inputs[0]

    @property
    def kernel(self) -> Kernel:
        return self.stage.kernel(Resources({}))

    @property
    def carried(self) -> tuple[tuple[str, int], ...]:
        """The kernel's columns that are columns of the DataFrame, by place."""
        return tuple((o.column, o.place) for o in self.outputs if o.expr is None and o.place is not None)


def plan_frame(schema: StructType, text: str, streaming: bool) -> FramePlan:
    columns = frame_columns(schema)
    clause, shift = parse_clause(text)
    try:
        return _plan(clause, columns, streaming)
    except PresageError as problem:
        every = [problem, *problem.others]
        for found in every:
            shift.move(found)
        first, *rest = (columns.explain(found, text).in_source(shift.source) for found in every)
        first.others = tuple(rest)
        raise first from None


def _plan(clause: MatchClause, columns: FrameColumns, streaming: bool) -> FramePlan:
    item = columns.item
    fields = tuple(Field(item.plan_name(name), kind) for _, name, kind in columns.known)
    scan = Scan("DataFrame", ALIAS, fields, tuple(name for _, name, _ in columns.known))
    scope, project = bind_match(clause, MatchInput(item, scan, None), ALIAS, Catalog())
    assert isinstance(project, Project)
    exprs = {o.name: o.expr for o in project.outputs}
    chosen = [(name, exprs[scope.plan_name(name)]) for name, _ in scope.attributes]
    wanted = frozenset[str]().union(*(expr.columns() for _, expr in chosen))
    # Constants alone would leave rows without a column, and such rows are lost between Spark and the kernel.
    match = project.input.narrowed(wanted or frozenset([SHOWN_TIME]))
    assert isinstance(match, Match)
    prepared = {n.name: n.expr for n in match.prepared}
    order = match.tables.sort
    if streaming:
        order, prepared = _stream_order(clause, columns, order, prepared)
        _refuse_end(clause, match)
    elif not order:
        raise error(
            "SYNTAX",
            clause.pattern.span,
            found="no ORDER BY",
            expected="the order of the rows",
            fix="add ORDER BY: a DataFrame has no order of its own",
        )
    timed = prepared[order[0][0]].type == TIMESTAMP and order[0][1]

    shown = [Output(name, expr, place=_unchanged(expr, prepared, columns)) for name, expr in chosen]
    if clause.rows != "one":
        keys = sum(isinstance(o.expr, ColumnRef) and o.expr.name in match.tables.keys for o in shown)
        first, others = _remaining(order, prepared, columns, {o.name for o in shown})
        shown = [*shown[:keys], *first, *shown[keys:], *others]
    carried = tuple((o.column, f"c{o.place}") for o in shown if o.expr is None)
    tables = replace(match.tables, sort=(), by_time=True, event_time=TIME, carry=tuple(name for name, _ in carried))
    node = replace(match, tables=tables)
    ordering, used = {name for name, _ in order}, node.used_columns()
    computed = tuple(Named(name, expr) for name, expr in prepared.items() if name in used | ordering)
    types = {n.name: n.expr.type for n in match.prepared}
    made = (*(Field(key, types[key]) for key in tables.keys), *match.made)
    stage = Stage(
        node,
        (StageInput(scan, computed, carried),),
        lambda resources: match_kernel(node, resources.relations),
        made=made,
        outputs=renamed(made),
        depth=0,
        sort=(),
        keys=tables.keys,
    )
    bounded = tables.within is not None or tables.gap is not None
    return FramePlan(
        columns,
        stage,
        order,
        timed,
        frozenset(ordering - used),
        tuple(shown),
        reads_end=tables.timeouts,
        waits=waits_for_time if bounded else _never,
        identity=({k: v for k, v in vars(match_kernel(node, {}).spec).items() if k != "code"}, computed, order),
    )


def _never(state: State) -> bool:
    return False


def _unchanged(expr: Expr, prepared: dict[str, Expr], columns: FrameColumns) -> int | None:
    """The place of the column that an output shows as it is: a plain partition column."""
    source = prepared.get(expr.name) if isinstance(expr, ColumnRef) else None
    return columns.places.get(source.name) if isinstance(source, ColumnRef) else None


def _remaining(
    order: tuple[tuple[str, bool], ...], prepared: dict[str, Expr], columns: FrameColumns, taken: set[str]
) -> tuple[list[Output], list[Output]]:
    """Columns of the input that ALL ROWS PER MATCH shows besides: those of ORDER BY, and the others."""
    first = [columns.places[x.name] for x in (prepared[name] for name, _ in order) if isinstance(x, ColumnRef)]
    found = {
        place: Output(field.name, None, f"_r{place}", place)
        for place, field in enumerate(columns.schema.fields)
        if field.name not in taken
    }
    ahead = [found[place] for place in dict.fromkeys(first) if place in found]
    return ahead, [output for place, output in found.items() if place not in first]


# -- what cannot be -----------------------------------------------------------------------------------


def _refuse_end(clause: MatchClause, match: Match) -> None:
    automaton = match.tables.automaton
    if any(edge.at_end for ways in (automaton.first, *automaton.follow) for edge in ways):
        raise error(
            "UNSUPPORTED",
            clause.pattern.span,
            what="$ in a pattern",
            where="on a streaming DataFrame",
            fix="leave $ out: a stream has no last row",
        )


def _stream_order(
    clause: MatchClause, columns: FrameColumns, order: tuple[tuple[str, bool], ...], prepared: dict[str, Expr]
) -> tuple[tuple[tuple[str, bool], ...], dict[str, Expr]]:
    """Rows come in the order of the column with the watermark; without ORDER BY that is their order, too."""
    marked = {columns.item.plan_name(name) for name in columns.watermarks}
    if not marked:
        raise error(
            "UNSUPPORTED",
            clause.order_by[0].span if clause.order_by else clause.pattern.span,
            what="MATCH_RECOGNIZE",
            where="on a streaming DataFrame without a watermark",
            fix="call df.withWatermark(…) with the column that ORDER BY begins with",
        )
    known = [column for column in columns.item.all_columns() if column.name in marked]
    if not order and len(known) == 1:
        named = next((n for n, expr in prepared.items() if expr == known[0]), "_time")
        return ((named, True),), {**prepared, named: known[0]}
    if not order or not order[0][1] or prepared[order[0][0]] not in known:
        names = " or ".join(f"'{name}'" for name in columns.watermarks)
        span = clause.order_by[0].span if clause.order_by else clause.pattern.span
        raise error(
            "UNSUPPORTED",
            span,
            what=f"ORDER BY that does not begin with {names}",
            where="on a streaming DataFrame",
            fix=f"begin it with {names}, ascending: the column that withWatermark was called on",
        )
    return order, prepared
