"""The binder of RECALL SIMILAR k ( CONTEXT …, WITH … ), and the columns that it adds."""

from __future__ import annotations

from dataclasses import replace

from presage.analyze.scope import ScopeItem
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.pattern_syntax import EventTerm
from presage.lang.recall_syntax import HistorySelect, HistorySource, SimilarClause
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import Catalog
from presage.model.types import (
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    Scalar,
    StructOf,
    is_numeric,
)
from presage.operators.recall.contexts import Names, bind_context
from presage.operators.recall.nodes import Nearby, Select, Similar
from presage.operators.recall.selects import Histories
from presage.plan.expr import CastTo, ColumnRef
from presage.plan.nodes import Field, Named

RANK, SIMILARITY, CONTEXT, AROUND = "rank", "similarity", "context", "around"
CONTEXT_TYPE = ArrayOf(StructOf((("attribute", STRING), ("value", STRING))))
AROUND_TYPE = ArrayOf(StructOf((("at", TIMESTAMP), ("stream", STRING), ("event", STRING))))


def streams_of(query: s.Query, catalog: Catalog) -> tuple[str, ...]:
    """The streams whose events make the rows of FROM, each once."""
    streams: list[str] = []
    for item in query.items:
        if item.pattern is not None:
            streams += sorted({node.name for node in nodes_of(item.pattern) if isinstance(node, EventTerm)})
        elif item.name not in catalog.relations:
            streams.append(item.name)
    return tuple(dict.fromkeys(streams))


def bind_similar(
    clause: SimilarClause, names: Names, past: int, histories: Histories, streams: tuple[str, ...]
) -> tuple[Similar, ScopeItem]:
    """`names`: those of an event, past or new. `past`: the number of the past events among the histories."""
    contexts = tuple(_context(written, names, histories) for written in clause.contexts)
    returned = tuple((w.name, bind_context(w.select, names, histories)) for w in clause.returned)
    _check_bandwidths(clause, contexts)
    around = clause.before is not None or clause.after is not None
    nearby = tuple(_nearby(name, i, clause, histories) for i, name in enumerate(streams)) if around else ()
    shown = _shown(names.event)
    _check_names(clause, shown, around)
    columns: list[tuple[str, DataType]] = [(RANK, LONG), (SIMILARITY, DOUBLE)]
    columns += [(named.name, named.expr.type) for named in shown]
    columns.append((CONTEXT, CONTEXT_TYPE))
    columns += [(name, _rows_of(select)) for name, select in returned]
    columns += [(AROUND, AROUND_TYPE)] if around else []
    made = ScopeItem(clause.alias, f"RECALL SIMILAR '{clause.alias}'", tuple(columns))
    fields = tuple(Field(column.name, column.type) for column in made.all_columns())
    widths = tuple((b.attribute, b.width) for b in clause.bandwidths)
    similar = Similar(clause.alias, fields, clause.count, past, shown, contexts, widths, returned, nearby)
    return replace(similar, before=clause.before or 0, after=clause.after or 0, last=clause.last), made


def _context(written: HistorySelect, names: Names, histories: Histories) -> Select:
    select = bind_context(written, names, histories)
    for output in select.outputs:
        if not isinstance(output.expr.type, Scalar):
            what, kind = f"'{output.name}' of a CONTEXT", output.expr.type
            expected = "a number, a text, a time or a truth value"
            fix = "compare a part of it: a field x.f, an element xs[0], a value m['key']"
            place = output.expr.span or written.span
            raise error("TYPE_MISMATCH", place, what=what, expected=expected, found=kind, fix=fix)
    return replace(select, outputs=tuple(_measured(output) for output in select.outputs))


def _measured(output: Named) -> Named:
    """A DECIMAL is compared as a number, near others."""
    if not isinstance(output.expr.type, DecimalOf):
        return output
    return replace(output, expr=CastTo(DOUBLE, output.expr, span=output.expr.span))


def _check_bandwidths(clause: SimilarClause, contexts: tuple[Select, ...]) -> None:
    outputs = [output for select in contexts for output in select.outputs]
    numbers = [output.name for output in outputs if is_numeric(output.expr.type)]
    seen: set[str] = set()
    for given in clause.bandwidths:
        if given.attribute not in numbers:
            fix = did_you_mean(given.attribute, numbers) or "name a number that a CONTEXT selects"
            if any(output.name == given.attribute for output in outputs):
                what, found = f"the BANDWIDTH of {given.attribute}", "values that are equal or not"
                raise error(
                    "TYPE_MISMATCH", given.span, what=what, expected="a number", found=found, fix="leave it out"
                )
            owner = "what the CONTEXTs select"
            raise error("UNKNOWN_ATTRIBUTE", given.span, owner=owner, name=given.attribute, fix=fix)
        if given.attribute in seen:
            raise error("DUPLICATE_NAME", given.span, name=given.attribute, where="BANDWIDTH", fix="give one width")
        seen.add(given.attribute)


def _shown(event: tuple[ScopeItem, ...]) -> tuple[Named, ...]:
    """A past event, as SELECT * would show it."""
    items = [item for item in event if not item.aside and not item.unbound]
    if len(items) == 1 and not items[0].grouped:
        named = zip(items[0].attributes, items[0].all_columns(), strict=True)
        return tuple(Named(name, column) for (name, _), column in named)
    return tuple(Named(item.alias, item.as_struct()) for item in items)


def _rows_of(select: Select) -> DataType:
    return ArrayOf(StructOf(tuple((output.name, output.expr.type) for output in select.outputs)))


def _nearby(stream: str, place: int, clause: SimilarClause, histories: Histories) -> Nearby:
    alias = f"_near{place}"
    source = HistorySource(stream, span=clause.span, name_span=clause.span)
    names, number, _ = histories.add(source, alias)
    attributes = zip(names.attributes, names.all_columns(), strict=True)
    return Nearby(stream, number, tuple(Named(name, ColumnRef(c.type, c.name)) for (name, _), c in attributes))


def _check_names(clause: SimilarClause, shown: tuple[Named, ...], around: bool) -> None:
    # Spark does not distinguish names that differ only in case, except attributes of one event.
    taken = {RANK, SIMILARITY, CONTEXT} | ({AROUND} if around else set())
    where = f"RECALL SIMILAR '{clause.alias}'"
    for named in shown:
        if named.name.lower() in taken:
            fix = "INSERT the events INTO a stream that names the attribute otherwise"
            raise error("DUPLICATE_NAME", clause.span, name=named.name, where=where, fix=fix)
    taken |= {named.name.lower() for named in shown}
    for written in clause.returned:
        if written.name.lower() in taken:
            fix = "write another name behind WITH"
            raise error("DUPLICATE_NAME", written.span, name=written.name, where=where, fix=fix)
        taken.add(written.name.lower())
