"""CREATE of streams, schemas and relations, and DROP of every object. Each returns a new catalog."""

from __future__ import annotations

from collections.abc import Callable

from presage.analyze.names import OF_DELTA, OF_SPARK, refuse_same_name
from presage.analyze.values import bind_row
from presage.declarations.options import add_option, check_duration, check_one_of
from presage.declarations.predicted_streams import PREDICTED_OPTIONS, bind_predicted, is_predicted_option
from presage.declarations.probabilistic_streams import bind_inference, bind_uncertain
from presage.errors import did_you_mean, error, placed
from presage.lang import syntax as s
from presage.model.catalog import EVENT, Attribute, Catalog, EventType, Relation, merge_attributes
from presage.model.semantics import Context
from presage.model.text import Span
from presage.model.time import parse_duration
from presage.model.types import TIMESTAMP, DataType, StructOf

# Options of every stream; those of its source are in `declarations/sources.py`.
STREAM_OPTIONS = ("source", "max_delay", "archive", "idle_after", "max_ahead", "retention", "nulls")
RELATION_OPTIONS = ("nulls",)
SOURCES = ("memory", "files", "kafka", "mqtt", "rate", "spark")
RESERVED_COLUMNS = ("_seq", "_t")


def declare_type(
    node: s.CreateType, catalog: Catalog, read_context: Callable[[str], Context] = lambda path: Context()
) -> Catalog:
    """The catalog with a new schema or stream; `read_context` reads a JSON-LD context."""
    refuse_known(node.name, catalog, node.span)
    parents = [_parent(name, catalog, node.span) for name in node.inherits]
    own = _attributes(node.columns, f"{node.kind} '{node.name}'")
    attributes = merge_attributes(node.name, parents, own, node.span)
    _refuse_duplicates([a.name for a in attributes], f"{node.kind} '{node.name}'", node.span)
    event_time = node.event_time or _inherited_time(node, parents)
    if event_time is not None:
        _check_event_time(node, event_time, attributes)
    if node.kind == "stream" and event_time is None:
        raise error("NO_EVENT_TIME", node.span, name=node.name)
    key = node.key or next((p.key for p in parents if p.key), ())
    for name in key:
        if all(a.name != name for a in attributes):
            fix = did_you_mean(name, [a.name for a in attributes])
            raise error("UNKNOWN_ATTRIBUTE", node.span, owner=f"{node.kind} '{node.name}'", name=name, fix=fix)
    options = _options(node)
    made = EventType(
        node.name,
        node.kind,
        attributes,
        parents=node.inherits,
        event_time=event_time,
        key=key,
        max_delay=parse_duration(options["max_delay"]) or 0 if "max_delay" in options else 0,
        options=options,
        context=_context(node, parents, read_context),
    )
    if node.inference is not None:
        made = bind_inference(node, node.inference, made, catalog)
    elif node.probabilistic is not None:
        made = bind_uncertain(node, made, catalog)
    if node.predicted is not None:
        made = bind_predicted(node, made, catalog)
    return catalog.with_type(made)


def _context(node: s.CreateType, parents: list[EventType], read_context: Callable[[str], Context]) -> Context | None:
    """Its own JSON-LD context, else that of the first parent that has one."""
    if node.context is None:
        return next((p.context for p in parents if p.context is not None), None)
    with placed(node.span):
        return read_context(node.context)


def declare_relation(node: s.CreateRelation, catalog: Catalog, resolve_path: Callable[[str], str]) -> Catalog:
    """The catalog with a new relation; `resolve_path` checks a file's path against the roots."""
    refuse_known(node.name, catalog, node.span)
    attributes = _attributes(node.columns, f"relation '{node.name}'")
    _refuse_duplicates([a.name for a in attributes], f"relation '{node.name}'", node.span)
    if not attributes:
        what = f"relation '{node.name}'"
        raise error("BAD_VALUE", node.span, what=what, found="without columns", expected="one or more")
    if node.path is not None:
        with placed(node.span):
            path = resolve_path(node.path)
        return catalog.with_relation(Relation(node.name, attributes, path=path, options=_relation_options(node)))
    rows = tuple(bind_row(row, attributes, f"relation '{node.name}'", node.span) for row in node.rows or ())
    return catalog.with_relation(Relation(node.name, attributes, rows=rows))


def _relation_options(node: s.CreateRelation) -> dict[str, str]:
    options: dict[str, str] = {}
    for option in node.options:
        name, owner = option.name.lower(), f"relation '{node.name}'"
        if name not in RELATION_OPTIONS:
            fix = did_you_mean(name, RELATION_OPTIONS)
            raise error("UNKNOWN_OPTION", option.span, name=option.name, owner=owner, fix=fix)
        _check_option(option, name, add_option(options, option, owner))
    return options


def drop(node: s.Drop, catalog: Catalog) -> Catalog:
    """The catalog without an object; refused while another object uses it."""
    declared = {
        "knowledge": catalog.knowledge,
        "sink": catalog.sinks,
        "model": catalog.models,
        "relation": catalog.relations,
        "schema": [t.name for t in catalog.types.values() if t.kind == "schema" and t.name != EVENT],
        "stream": [t.name for t in catalog.types.values() if t.kind != "schema"],
    }.get(node.kind, ())
    if node.name not in declared:
        kind = "knowledge base" if node.kind == "knowledge" else node.kind
        fix = did_you_mean(node.name, declared)
        raise error("UNKNOWN_OBJECT", node.span, kind=kind, name=node.name, fix=fix)
    heirs = catalog.heirs(node.name) if node.kind in ("stream", "schema") else []
    users = [*heirs, *(catalog.inferred(node.name) if node.kind in ("stream", "schema", "model") else [])]
    if users:
        raise error("IN_USE", node.span, name=node.name, users=", ".join(f"'{user}'" for user in users))
    return catalog.without(node.name)


def refuse_known(name: str, catalog: Catalog, span: Span) -> None:
    """Names are unique among all objects, and case-sensitive."""
    if name in catalog.taken():
        kind, fix = catalog.kind(name), "choose another name"
        raise error("ALREADY_DECLARED", span, name=name, kind=kind, difference="", fix=fix)


def _parent(name: str, catalog: Catalog, span: Span) -> EventType:
    parent = catalog.types.get(name)
    if parent is None:
        raise error("UNKNOWN_TYPE", span, name=name, fix=did_you_mean(name, list(catalog.types)))
    if not parent.happens:
        rows = "functions of time" if parent.predicted is not None else "uncertain"
        fix = "put what both have in a schema, and inherit that"
        raise error("UNSUPPORTED", span, what=f"INHERITS {name}", where=f"because its rows are {rows}", fix=fix)
    return parent


def _attributes(columns: tuple[s.Column, ...], owner: str) -> tuple[Attribute, ...]:
    for number, column in enumerate(columns):
        _refuse_duplicates([c.name for c in columns[: number + 1]], owner, column.span)
        _refuse_duplicate_fields(column.type, f"'{column.name}' of {owner}", column.span)
        if column.name.lower() in RESERVED_COLUMNS:
            what, expected, fix = "the attribute name", "none of Presage's own names", "choose another name"
            raise error("BAD_VALUE", column.span, what=what, found=f"'{column.name}'", expected=expected, fix=fix)
    return tuple(Attribute(c.name, c.type) for c in columns)


def _refuse_duplicates(names: list[str], owner: str, span: Span | None) -> None:
    why = OF_SPARK if owner.startswith("relation") else OF_DELTA
    for number, name in enumerate(names):
        refuse_same_name(name, names[:number], owner, span, "rename one of them", why)


def _refuse_duplicate_fields(data_type: DataType, owner: str, span: Span) -> None:
    if isinstance(data_type, StructOf):
        _refuse_duplicates([name for name, _ in data_type.fields], owner, span)
    parts = (
        vars(data_type).values() if not isinstance(data_type, StructOf) else [field for _, field in data_type.fields]
    )
    for part in parts:
        if isinstance(part, DataType):
            _refuse_duplicate_fields(part, owner, span)


def _inherited_time(node: s.CreateType, parents: list[EventType]) -> str | None:
    times = {p.event_time for p in parents if p.event_time is not None}
    if len(times) > 1:
        fix = "EVENT TIME and the attribute that counts"
        raise error("AMBIGUOUS_NAME", node.span, name="EVENT TIME", candidates=" or ".join(sorted(times)), fix=fix)
    return next(iter(times), None)


def _check_event_time(node: s.CreateType, name: str, attributes: tuple[Attribute, ...]) -> None:
    owner = f"{node.kind} '{node.name}'"
    found = next((a for a in attributes if a.name == name), None)
    if found is None:
        fix = did_you_mean(name, [a.name for a in attributes])
        raise error("UNKNOWN_ATTRIBUTE", node.span, owner=owner, name=name, fix=fix)
    if found.type != TIMESTAMP:
        raise error("TYPE_MISMATCH", node.span, what=f"EVENT TIME {name}", expected="TIMESTAMP", found=found.type)


def _options(node: s.CreateType) -> dict[str, str]:
    options: dict[str, str] = {}
    owner = f"{node.kind} '{node.name}'"
    source = next((str(o.value) for o in node.options if o.name.lower() == "source"), "memory")
    for option in node.options:
        name = option.name.lower()
        known = name in STREAM_OPTIONS or (node.predicted is not None and is_predicted_option(name))
        if node.kind == "schema" or (not known and source == "memory"):
            every = (*STREAM_OPTIONS, *(PREDICTED_OPTIONS if node.predicted is not None else ()))
            fix = did_you_mean(name, every) if node.kind == "stream" else "options belong to a stream"
            raise error("UNKNOWN_OPTION", option.span, name=option.name, owner=owner, fix=fix)
        _check_option(option, name, add_option(options, option, owner))
    return options


def _check_option(option: s.Option, name: str, value: str) -> None:
    if name == "source":
        check_one_of(name, value, SOURCES, option.span)
    elif name in ("max_delay", "idle_after", "max_ahead", "retention"):
        check_duration(value, option.span)
    elif name == "nulls" and not value.replace(",", "").strip():
        expected = "texts that mean null, with commas between them"
        raise error("BAD_VALUE", option.span, what="nulls", found="empty", expected=expected, fix="write nulls = 'NA'")
    elif name == "archive" and value.lower() not in ("true", "false"):
        raise error("BAD_VALUE", option.span, what="archive", found=f"'{value}'", expected="true or false")
