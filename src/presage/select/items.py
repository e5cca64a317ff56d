"""The binder of one item of FROM: a stream with its window, a pattern, MATCH_RECOGNIZE, a relation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import event_type_of
from presage.analyze.scope import Scope, ScopeItem, plan_name
from presage.errors import error
from presage.lang import syntax as s
from presage.lang.match_syntax import MatchClause
from presage.lang.pattern_syntax import PatternSource
from presage.model.catalog import EventType
from presage.model.text import Span
from presage.model.time import TimeRange
from presage.operators.windows.nodes import NO_WINDOW, Aggregate, WindowDef, Windowed
from presage.operators.windows.window_defs import bind_window
from presage.operators.windows.window_types import FOREVER
from presage.plan.expr import ColumnRef
from presage.plan.nodes import SHOWN_TIME, Field, Filter, Named, Node, Project, RelationScan
from presage.plan.query import BoundQuery
from presage.select.context import QueryContext
from presage.select.from_items import bind_stream
from presage.select.refusals import refuse_uncertain

BindQuery = Callable[[s.Query, QueryContext], BoundQuery]


@dataclass(frozen=True)
class Item:
    """A bound item of FROM: its names (of a pattern, one for each tag), and the node of its rows."""

    scopes: tuple[ScopeItem, ...]
    node: Node

    @property
    def window(self) -> WindowDef:
        return self.node.window if isinstance(self.node, Windowed) else NO_WINDOW

    @property
    def is_relation(self) -> bool:
        return isinstance(self.node, RelationScan)


def bind_item(item: s.FromItem, context: QueryContext, time: TimeRange, bind_query: BindQuery) -> Item:
    """`bind_query` binds the statements that fill derived streams."""
    catalog = context.catalog
    if item.pattern is not None:
        return _bind_pattern(item, item.pattern, context, time, bind_query)
    alias = item.alias or item.name
    relation = catalog.relations.get(item.name)
    if relation is not None:
        return bind_relation(item, alias, context)
    event_type = event_type_of(item.name, item.name_span, catalog)
    attributes = tuple((a.name, a.type) for a in event_type.attributes)
    # Inside MATCH_RECOGNIZE the stream keeps its own name; the alias is that of the matches.
    own = alias if item.match is None else item.name
    scope = ScopeItem(own, f"{event_type.kind} '{item.name}'", attributes, event_type.hidden)
    node = bind_stream(event_type, own, time, context, bind_query, item.span)
    binder = ExpressionBinder(Scope([scope], catalog), no_aggregates_in="the filter of a stream")
    if item.condition is not None:
        node = Filter(node, binder.condition(item.condition, f"the filter of '{item.name}'"))
    window = bind_window(item.windows, ExpressionBinder(Scope([scope], catalog), no_aggregates_in="a window"))
    if item.match is not None:
        return _bind_match(item, item.match, scope, node, window, event_type, alias, context)
    return Item((scope,), Windowed(node, window) if window is not None else node)


def without_shown_time(node: Node) -> Node:
    """Joined rows have the time of the event that completes the pair, and not the shown time of a match."""
    if isinstance(node, Project):
        return replace(node, outputs=tuple(o for o in node.outputs if o.name != SHOWN_TIME))
    return node


def _bind_pattern(
    item: s.FromItem, source: PatternSource, context: QueryContext, time: TimeRange, bind_query: BindQuery
) -> Item:
    """PATTERN […]: each tag is a name; with an alias, the tags are its attributes as well."""
    if item.match is not None:
        fix = "INSERT the pattern's rows INTO a stream and read that"
        raise error("UNSUPPORTED", item.match.span, what="MATCH_RECOGNIZE", where="over PATTERN […]", fix=fix)

    def events(event_type: EventType, alias: str, span: Span) -> Node:
        refuse_uncertain(event_type, "PATTERN […]", span)
        return bind_stream(event_type, alias, time, context, bind_query, span)

    scopes, node = context.extensions.pattern(source, events, context.catalog, time.low)
    if item.alias is not None:
        bound = [tag for tag in scopes if not tag.unbound]
        structs = [Named(plan_name(item.alias, tag.alias), tag.as_struct()) for tag in bound]
        columns = [Named(c.name, ColumnRef(c.type, c.name)) for c in node.columns]
        node = Project(node, (*columns, *structs))
        attributes = tuple((tag.alias, x.expr.type) for tag, x in zip(bound, structs, strict=True))
        scopes = [*scopes, ScopeItem(item.alias, f"pattern '{item.alias}'", attributes, aside=True)]
    window = bind_window(item.windows, ExpressionBinder(Scope(scopes, context.catalog), no_aggregates_in="a window"))
    return Item(tuple(scopes), Windowed(node, window) if window is not None else node)


def _bind_match(
    item: s.FromItem,
    clause: MatchClause,
    scope: ScopeItem,
    node: Node,
    window: WindowDef | None,
    event_type: EventType,
    alias: str,
    context: QueryContext,
) -> Item:
    """MATCH_RECOGNIZE over a stream, or over the content of its window."""
    whole, span = False, None
    kind = NO_WINDOW.type if window is None else window.type
    keyed = window is not None and kind.is_sized and window.by
    supported = (kind.is_batch and not keyed) or kind.span_of_time or kind.retention == FOREVER
    if window is not None and (window.group or not supported):
        what, fix = f"the window {window.spelling()}", "use #time, #time_batch or #length_batch"
        raise error("UNSUPPORTED", item.windows[0].span, what=what, where="under MATCH_RECOGNIZE", fix=fix)
    if window is not None and window.is_batch:
        columns = tuple(c.name for c in node.columns)
        node, whole = Aggregate(Windowed(node, window), (), (), carry=columns, row_per="event"), True
    elif window is not None and kind.span_of_time:
        span = window.size
    made, rows = context.extensions.match(
        clause, scope, node, event_type.event_time, whole, span, alias, context.catalog
    )
    return Item((made,), rows)


def bind_relation(item: s.FromItem, alias: str, context: QueryContext) -> Item:
    relation = context.catalog.relations[item.name]
    if item.windows:
        fix = "a relation is static: leave the window out"
        raise error("NOT_A_STREAM", item.windows[0].span, name=item.name, kind="relation", fix=fix)
    attributes = tuple((a.name, a.type) for a in relation.attributes)
    # A relation with a generated alias is not part of `*`.
    scope = ScopeItem(alias, f"relation '{item.name}'", attributes, aside=alias.startswith("~"))
    fields = tuple(Field(c.name, c.type) for c in scope.all_columns())
    node = RelationScan(item.name, alias, fields, tuple(n for n, _ in attributes))
    if item.condition is not None:
        fix = "write the condition in ON or WHERE"
        raise error("UNSUPPORTED", item.condition.span, what="a filter in parentheses", where="on a relation", fix=fix)
    return Item((scope,), node)
