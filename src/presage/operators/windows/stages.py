"""Stages of windows, their aggregates and joins.

`compile` builds the tables of their kernels; this module defines their inputs and the names of their columns.
"""

from __future__ import annotations

from dataclasses import replace

from presage.execution.stage import Operator, Resources, Stage, StageInput, carried, key_columns, order_fields, renamed
from presage.model import types as t
from presage.operators.windows import sharing
from presage.operators.windows.compile import (
    AggregateStage,
    JoinSourceStage,
    JoinStage,
    compile_aggregate,
    compile_join,
    fields_of,
    identity_of,
)
from presage.operators.windows.kernel import spec
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.changelog import ChangelogAggregateKernel
from presage.operators.windows.kernel.distinct import DistinctKernel
from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.output import OutputKernel
from presage.operators.windows.kernel.snapshot import SnapshotKernel
from presage.operators.windows.nodes import Aggregate, Distinct, Output, Windowed, WindowJoin, source_of
from presage.operators.windows.window_types import START
from presage.plan.expr import Constant
from presage.plan.nodes import Field, Filter, Named, Node, order_columns

# A constant column, for rows that carry nothing of their event.
ANY = "_any"
_ALWAYS = Constant(t.BOOLEAN, True)


def windowed_stage(node: Windowed) -> Node:
    """A sliding window without an aggregate or a join: its events unchanged."""
    return node.input


def aggregate_stage(node: Aggregate) -> Stage:
    join, _ = source_of(node)
    tables = compile_aggregate(node)
    anything = not tables.carry and (join is not None or node.row_per != "batch")
    carry = (ANY,) if anything else tables.carry
    prepared = [n for n in tables.prepared if n.name != spec.PASS] + ([Named(ANY, _ALWAYS)] if anything else [])
    masks = tuple(n for n in tables.prepared if n.name == spec.PASS)
    made = (*([Field(ANY, t.BOOLEAN)] if anything else []), *tables.outputs)
    from_events = carried(*(name for name in tables.carry if name != START))
    below = StageInput(tables.input, tuple(prepared), from_events, masks)
    if join is not None:
        return _join_aggregate(node, join, tables, below, carry, made)
    order = tables.input.order
    ordinal = (spec.ORDINAL,) if tables.window.is_batch else ()
    places = (*node.order[: len(node.order) - len(ordinal)], *ordinal)
    kernel = AggregateKernel(
        tables.window, tables.group_by, tables.grouped, tables.aggregates, carry, order, tables.partition, tables.apart
    )
    return Stage(
        node,
        (below,),
        lambda _: kernel,
        made=(*order_fields((*order, *ordinal)), *made),
        outputs=(*renamed(order_fields(node.order), places), *renamed(tables.outputs)),
        depth=tables.input.depth,
        sort=order,
        keys=tables.partition,
    )


def _join_aggregate(
    node: Aggregate,
    join: WindowJoin,
    tables: AggregateStage,
    below: StageInput,
    carry: tuple[str, ...],
    made: tuple[Field, ...],
) -> Stage:
    """Aggregates over the live tuples of a join, which emits a changelog of those that enter and leave."""
    conditions, source = [], node.input
    while isinstance(source, Filter):
        conditions.append(source.condition)
        source = source.input
    identity, order = identity_of(join), order_columns(join.depth - 1)
    changes = ((spec.ORDINAL, join.order[-1]), *carried(spec.CHANGE, *identity), *below.carried)
    grouped = tables.grouped or (node.at_end and node.row_per == "batch")
    make = SnapshotKernel if node.at_end else ChangelogAggregateKernel
    kernel = make(tables.group_by, grouped, tables.aggregates, carry, order, identity)
    return Stage(
        node,
        (replace(below, source=_join(join, changelog=True), carried=changes, where=tuple(conditions)),),
        lambda _: kernel,
        made=(*order_fields((*order, spec.ORDINAL)), *made),
        outputs=(*renamed(order_fields(node.order), (*order, spec.ORDINAL)), *renamed(tables.outputs)),
        depth=len(order),
        sort=(*order, spec.ORDINAL),
        keys=tables.partition,
        shards=False,
    )


def join_stage(node: WindowJoin) -> Stage:
    return _join(node, changelog=False)


def _join(node: WindowJoin, changelog: bool) -> Stage:
    """Tuples of the join; in a changelog also their identity, and whether they enter or leave."""
    tables = compile_join(node)
    order = order_columns(node.depth - 1)
    identity, change = identity_of(node), ((Field(spec.CHANGE, t.INT),) if changelog else ())
    changelog_fields = (*order_fields(identity), *change)
    inputs = tuple(_join_input(number, source, tables) for number, source in enumerate(tables.sources))
    streams = tuple(each for each, source in zip(inputs, tables.sources, strict=True) if not source.static)
    columns = tuple(Field(_own(i, f.name), f.type) for i, s in enumerate(tables.sources) for f in _state_columns(s))
    shown = tuple((c, _own(i, c.name)) for i, source in enumerate(node.sources) for c in source.columns)
    return Stage(
        node,
        streams,
        lambda resources: _join_kernel(tables, inputs, changelog, order, resources),
        made=(*order_fields((*order, spec.ORDINAL)), *columns, *changelog_fields),
        outputs=(
            *renamed(order_fields(node.order), (*order, spec.ORDINAL)),
            *(renamed(changelog_fields) if changelog else ()),
            *shown,
        ),
        depth=len(order),
        sort=order,
        keys=key_columns(len(streams[0].keys)),
        numbered=spec.SOURCE,
        residual=tables.residual,
    )


def _own(number: int, name: str) -> str:
    """The kernel's name of a source's column."""
    return f"{number}:{name}"


def _state_columns(source: JoinSourceStage) -> list[Field]:
    return [f for f in (*source.input.columns, *fields_of(source.prepared)) if f.name != spec.PASS]


def _join_input(number: int, source: JoinSourceStage, tables: JoinStage) -> StageInput:
    passing = next((n.expr for n in source.prepared if n.name == spec.PASS), _ALWAYS)
    return StageInput(
        source.input,
        tuple(Named(_own(number, n.name), n.expr) for n in source.prepared if n.name != spec.PASS),
        tuple((_own(number, c.name), c.name) for c in source.input.columns),
        (Named(spec.PASS, passing),) if tables.has_pass and not source.static else (),
        keys=tuple(_own(number, name) for name in source.partition),
        number=number,
    )


def _join_kernel(
    tables: JoinStage, inputs: tuple[StageInput, ...], changelog: bool, order: tuple[str, ...], resources: Resources
) -> JoinKernel:
    sources = []
    for number, (source, each) in enumerate(zip(tables.sources, inputs, strict=True)):
        by, group = (tuple(_own(number, c) for c in part) for part in (source.window.by, source.window.group))
        columns = tuple(_own(number, f.name) for f in _state_columns(source))
        static = resources.lookup(each) if source.static else None
        sources.append(JoinSource(replace(source.window, by=by, group=group), columns, static))
    links = tuple(
        Link(left, tuple(_own(left, c) for c in lc), right, tuple(_own(right, c) for c in rc))
        for left, lc, right, rc in tables.links
    )
    return JoinKernel(tuple(sources), links, changelog, order)


def distinct_stage(node: Distinct) -> Stage:
    columns = tuple(c.name for c in node.columns)
    kernel = DistinctKernel(node.by, columns, node.order)
    return Stage(
        node,
        (StageInput(node.input, carried=carried(*columns)),),
        lambda _: kernel,
        made=(*order_fields(node.order), *node.columns),
        outputs=renamed((*order_fields(node.order), *node.columns)),
        depth=node.depth,
        sort=node.order,
        keys=node.by,
    )


def output_stage(node: Output) -> Stage:
    below = node.input
    columns = tuple(c.name for c in node.columns)
    kernel = OutputKernel(node.mode, node.every, node.by, columns, below.order, ordinal=node.order[-1])
    made = (*order_fields(node.order), *node.columns)
    return Stage(
        node,
        (StageInput(below, carried=carried(*(c.name for c in below.columns))),),
        lambda _: kernel,
        made=made,
        outputs=renamed(made),
        depth=below.depth,
        sort=below.order,
        shards=False,
    )


def _closes(node: Node) -> bool:
    """Whether a timer closes the batches of a window, or the end of input makes all rows."""
    return (isinstance(node, Windowed) and node.window.type.closes_by_timer) or _waits_for_end(node)


def _waits_for_end(node: Node) -> bool:
    return (isinstance(node, Aggregate) and node.at_end) or (isinstance(node, Output) and not node.every)


OPERATOR = Operator(
    stages={
        Windowed: windowed_stage,
        Aggregate: aggregate_stage,
        WindowJoin: join_stage,
        Distinct: distinct_stage,
        Output: output_stage,
    },
    timers=lambda node: _closes(node) or isinstance(node, Output),
    reads_end=_closes,
    shared=sharing,
    # The output rate counts rows that the end of a pattern emits, without regard to their statement.
    apart_from_matches=(Output,),
)
