"""The events of a type in FROM: scans of its streams, and plans of the statements that fill derived streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from presage.analyze.scope import plan_name
from presage.analyze.type_rules import cast_to
from presage.errors import PresageError, error
from presage.model import types as t
from presage.model.catalog import EventType, Moment, Producer
from presage.model.text import Span
from presage.model.time import TimeRange
from presage.plan.expr import FALSE, ColumnRef, Comparison, Constant, Expr, Or, conjunction
from presage.plan.nodes import SEQ, TIME, Field, Filter, Merge, Named, Node, Project, Retime, Scan, Stamp, order_columns
from presage.plan.query import BoundQuery

if TYPE_CHECKING:
    from presage.lang import syntax as s
    from presage.select.context import QueryContext
    from presage.select.extensions import Events

# Ranks of deployed statements start here, above those that are only declared; then those that set their own time.
DEPLOYED = 1_000_000
RETIMED = 2_000_000
# Plans are walked recursively, and Spark's planning time grows faster than their size.
MAX_DEPTH = 32
# Prefix of an attribute that a stream has and the type in FROM has not.
OWN = "~"
MAX_STATEMENTS = 256

Bind = Callable[["s.Query", "QueryContext"], BoundQuery]


def events_within(time: TimeRange, context: QueryContext, bind: Bind) -> Events:
    """`bind_stream` for one range of time and one context."""
    return lambda event_type, alias, span: bind_stream(event_type, alias, time, context, bind, span)


def bind_stream(
    event_type: EventType, alias: str, time: TimeRange, context: QueryContext, bind: Bind, span: Span
) -> Node:
    """All events that `FROM event_type` reads, with the attributes of that type as `alias.attribute`."""
    fields = tuple(Field(plan_name(alias, a.name), a.type) for a in event_type.attributes)
    names = tuple(a.name for a in event_type.attributes)
    type_fields, type_names = fields, names
    sources: list[Node] = []
    ranks: list[int] = []
    for stream in context.catalog.streams_of(event_type.name):
        fields, names = _with_own(event_type, stream, alias, type_fields, type_names)
        if stream.inference is not None:
            readings = events_within(time, context, bind)
            return context.extensions.inferred(stream, alias, readings, context.catalog, span)
        if stream.kind == "stream":
            after = context.since.position if context.since else None
            until = context.until.position if context.until else None
            scan = Scan(stream.name, alias, fields, names, time, stream.event_time, after, until)
            sources.append(_with_virtual(scan, event_type, stream, alias, type_fields))
            ranks.append(0)
        derived = _derived(stream, fields, names, time, context, bind, span)
        sources.extend(_with_virtual(node, event_type, stream, alias, type_fields) for node, _ in derived)
        ranks.extend(rank for _, rank in derived)
    if ranks == [0]:
        return sources[0]
    virtual = tuple(Field(plan_name(alias, v.name), v.type) for v in event_type.virtual)
    return Merge(tuple(sources), alias, (*type_fields, *virtual), tuple(ranks))


def _with_own(
    event_type: EventType, stream: EventType, alias: str, fields: tuple[Field, ...], names: tuple[str, ...]
) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The columns to read of a stream: the attributes of the type, and those that virtual attributes are mapped to."""
    own = dict.fromkeys(v.attributes[stream.name] for v in event_type.virtual if stream.name in v.attributes)
    types = {a.name: a.type for a in stream.attributes}
    further = tuple(Field(plan_name(alias, f"{OWN}{name}"), types[name]) for name in own)
    return (*fields, *further), (*names, *own)


def _with_virtual(node: Node, event_type: EventType, stream: EventType, alias: str, fields: tuple[Field, ...]) -> Node:
    if not event_type.virtual:
        return node
    outputs = [Named(f.name, ColumnRef(f.type, f.name)) for f in fields]
    types = {a.name: a.type for a in stream.attributes}
    for virtual in event_type.virtual:
        attribute = virtual.attributes.get(stream.name)
        made: Expr = Constant(virtual.type, virtual.constants.get(stream.name))
        if attribute is not None:
            made = cast_to(ColumnRef(types[attribute], plan_name(alias, f"{OWN}{attribute}")), virtual.type)
        outputs.append(Named(plan_name(alias, virtual.name), made))
    return Project(node, tuple(outputs))


def _derived(
    stream: EventType,
    fields: tuple[Field, ...],
    names: tuple[str, ...],
    time: TimeRange,
    context: QueryContext,
    bind: Bind,
    span: Span,
) -> list[tuple[Node, int]]:
    """The rows of the statements that fill a derived stream, as its events, with their ranks."""
    if stream.name in context.path:
        circle = " -> ".join([*context.path[context.path.index(stream.name) :], stream.name])
        raise error("CYCLE", span, what=f"the derived stream '{stream.name}'", path=circle)
    found: list[tuple[Node, int]] = []
    made: dict[int, set[str]] = {}  # deployed statements whose rows are read as emitted, and their input streams
    for place, producer in enumerate(stream.producers):
        bound = _bound_producer(stream, producer, context, bind, span)
        streams = _streams_behind(stream, producer, bound, context, bind, span)
        own_time = event_time_of(stream, bound.plan)
        retimed = not bound.plan.is_own_time(own_time)
        if producer.number is None:
            rank = _first_rank(stream, context) + place
        else:
            rank = (RETIMED if retimed else DEPLOYED) + producer.number
            if context.live and not retimed:
                made[producer.number] = streams
                continue
        node = _as_events(stream, bound, own_time, fields, names)
        ended = [(producer.until, "<=")] if producer.until is not None else []
        moments = [(context.since, ">"), (context.until, "<="), *ended]
        bounds = conjunction(
            [*_bounds(time), *_within_moments(moments, streams), *_arrived_before_end(context.until, streams)]
        )
        found.append((Filter(node, bounds) if bounds is not None else node, rank))
    if context.live and (made or len(found) < len(stream.producers) or any(rank < RETIMED for _, rank in found)):
        # Also for statements that are deployed later. Not where all rows have a time of their own: they need not wait
        # for the watermark of the log.
        node = Scan(stream.name, _alias(fields), fields, names, time, stream.event_time, made=True)
        since = conjunction(_emitted_after(context.since, made))
        found.append((Filter(node, since) if since is not None else node, DEPLOYED))
    return found


def _alias(fields: tuple[Field, ...]) -> str:
    return fields[0].name.partition(".")[0] if fields else ""


def event_time_of(stream: EventType, plan: Node) -> str:
    """The event time column of a statement's rows: that of the stream where it is selected, else `at`."""
    return stream.event_time if stream.event_time in plan.column_names() else "at"


def _bound_producer(stream: EventType, producer: Producer, context: QueryContext, bind: Bind, span: Span) -> BoundQuery:
    inner = replace(context, path=(*context.path, stream.name), since=producer.since, until=producer.until)
    context.opened.append(stream.name)
    _check_size(stream, inner, span)
    try:
        return bind(context.parse_producer(producer.text), inner)
    except PresageError as problem:
        # A span of the producer's text is wrong in the text of this query.
        problem.span, problem.others = span, ()
        raise


def _streams_behind(
    stream: EventType, producer: Producer, bound: BoundQuery, context: QueryContext, bind: Bind, span: Span
) -> set[str]:
    """The streams of the log whose watermark decides when a statement emits its rows."""
    if any(scan.made for scan in bound.awaited_scans()):
        # It reads rows of other statements: only the plan with theirs inlined shows the streams.
        bound = _bound_producer(stream, producer, replace(context, live=False, opened=[]), bind, span)
    return {scan.stream for scan in bound.awaited_scans()}


def _as_events(
    stream: EventType, bound: BoundQuery, own_time: str, fields: tuple[Field, ...], names: tuple[str, ...]
) -> Node:
    """The rows of a statement as events of the stream that it fills."""
    node = bound.plan
    made = node.column_names()
    if isinstance(node, Stamp):
        node = replace(node, upper=bound.upper)
    if own_time != "at" or not isinstance(node, Stamp):
        node = Retime(node, own_time, stream.max_delay, bound.upper)
    source = {name: name if name in made else "at" if name == stream.event_time else None for name in names}
    outputs = tuple(Named(f.name, _widened(node, source[name], f.type)) for f, name in zip(fields, names, strict=True))
    return Project(node, outputs)


def _first_rank(stream: EventType, context: QueryContext) -> int:
    """Statements are numbered across the catalog: a statement has the same rank wherever it is read."""
    before = 1
    for other in context.catalog.types.values():
        if other.name == stream.name:
            break
        before += len(other.producers)
    return before


def _check_size(stream: EventType, context: QueryContext, span: Span) -> None:
    """Plans are trees: a stream that is read twice is planned twice, and each derived stream adds depth."""
    limits = (
        ("streams derived from each other", len(context.path), MAX_DEPTH),
        ("statements of derived streams in one query", len(context.opened), MAX_STATEMENTS),
    )
    for name, found, limit in limits:
        if found > limit:
            what, fix = f"the query down to the derived stream '{stream.name}'", "write some of the statements as one"
            raise error("LIMIT", span, what=what, limit_name=name, limit=limit, fix=fix)


def _widened(node: Node, name: str | None, wanted: t.DataType) -> Expr:
    if name is None:
        return Constant(wanted, None)
    column = next(c for c in node.columns if c.name == name)
    return cast_to(ColumnRef(column.type, column.name), wanted)


def _bounds(time: TimeRange) -> list[Expr]:
    """WITHIN as conditions on the time of derived events."""
    column = ColumnRef(t.LONG, TIME)
    parts: list[Expr] = []
    if time.low is not None:
        parts.append(Comparison(t.BOOLEAN, ">=", column, Constant(t.LONG, time.low)))
    if time.high is not None:
        parts.append(Comparison(t.BOOLEAN, "<", column, Constant(t.LONG, time.high)))
    return parts


def _within_moments(moments: list[tuple[Moment | None, str]], streams: set[str]) -> list[Expr]:
    """Start and end of deployed statements as conditions on rows: of the statement itself, or of one that it reads.

    A row has no offset of its own: it is emitted when the watermark of its input streams reaches its time.
    """
    column = ColumnRef(t.LONG, TIME)
    parts: list[Expr] = []
    for moment, op in moments:
        watermark = moment.watermark(streams) if moment is not None else None
        if watermark is not None:
            parts.append(Comparison(t.BOOLEAN, op, column, Constant(t.LONG, watermark)))
        elif moment is not None and op == "<=":
            parts.append(FALSE)  # no row was emitted yet
    return parts


def _arrived_before_end(until: Moment | None, streams: set[str]) -> list[Expr]:
    """Events at the very watermark where a statement ended may arrive later: it has not emitted their rows."""
    watermark = until.watermark(streams) if until is not None else None
    if until is None or watermark is None:
        return []
    earlier = Comparison(t.BOOLEAN, "<", ColumnRef(t.LONG, TIME), Constant(t.LONG, watermark))
    arrived = Comparison(t.BOOLEAN, "<=", ColumnRef(t.LONG, SEQ), Constant(t.LONG, until.position))
    return [Or(t.BOOLEAN, (earlier, arrived))]


def _emitted_after(since: Moment | None, made: dict[int, set[str]]) -> list[Expr]:
    """The rows of each statement that a statement started at `since` reads: those not emitted by then."""
    parts: list[Expr] = []
    time, number = ColumnRef(t.LONG, TIME), ColumnRef(t.LONG, order_columns(1)[0])
    for statement, streams in made.items():
        watermark = since.watermark(streams) if since is not None else None
        if watermark is not None:
            other = Comparison(t.BOOLEAN, "<>", number, Constant(t.LONG, statement))
            later = Comparison(t.BOOLEAN, ">", time, Constant(t.LONG, watermark))
            parts.append(Or(t.BOOLEAN, (other, later)))
    return parts
