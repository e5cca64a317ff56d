"""Checks of INSERT INTO a derived stream: no cycle, and columns that fit the stream."""

from __future__ import annotations

from presage.errors import did_you_mean, error
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.lang.pattern_syntax import EventTerm
from presage.lang.recall_syntax import HistorySource
from presage.lang.sequence_syntax import Subgoal
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import EVENT, Catalog, EventType
from presage.model.types import common_type
from presage.plan.nodes import Field


def parse_producer(text: str) -> s.Query:
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return statement


def reads(query: s.Query, name: str) -> bool:
    """Whether a query names the object in FROM, a pattern, a sequence, RECALL, or as a relation in a condition."""
    named = (n for n in nodes_of(query) if isinstance(n, s.FromItem | s.Call | EventTerm | Subgoal | HistorySource))
    return any((node.stream if isinstance(node, Subgoal) else node.name) == name for node in named)


def _types_read(query: s.Query) -> list[str]:
    """The event types that a query reads. A pattern of timers alone reads all events: they advance its watermark."""
    found: list[str] = []
    for item in query.items:
        if item.sequence is not None:
            found += [part.stream for part in item.sequence.parts]
            continue
        terms = [n.name for n in nodes_of(item.pattern) if isinstance(n, EventTerm)] if item.pattern else [item.name]
        found += terms or [EVENT]
        found += [n.name for n in nodes_of(item) if isinstance(n, HistorySource) and n.name]
    return found


def refuse_circle(statement: s.Query, name: str, catalog: Catalog) -> None:
    """A derived stream must not feed itself, directly or through a type that it inherits."""
    todo = [[name, read] for read in _types_read(statement)]
    followed: set[str] = set()
    while todo:
        path = todo.pop()
        if path[-1] in followed:
            continue
        followed.add(path[-1])
        reached = catalog.types.get(path[-1])
        if path[-1] == name or (reached is not None and name in catalog.types and path[-1] in catalog.ancestors(name)):
            what = f"the derived stream '{name}'"
            raise error("CYCLE", statement.span, what=what, path=" <- ".join([*path[:-1], path[-1]]))
        # The root schema covers every stream, so a derived stream over it would read itself.
        if path[-1] == EVENT:
            what = f"the derived stream '{name}'"
            raise error("CYCLE", statement.span, what=what, path=f"{name} <- {EVENT} <- {name}")
        for stream in catalog.streams_of(path[-1]) if reached is not None else ():
            through = path if stream.name == path[-1] else [*path, stream.name]
            for producer in stream.producers:
                todo.extend([*through, read] for read in _types_read(parse_producer(producer.text)))


def check_fits(statement: s.Query, known: EventType, columns: tuple[Field, ...]) -> None:
    """The columns of INSERT INTO an existing stream are attributes of it, by name, in types that widen to theirs."""
    if known.kind == "schema":
        fix = "INSERT INTO makes a stream: choose another name"
        raise error("NOT_A_STREAM", statement.span, name=known.name, kind="schema", fix=fix)
    if known.probabilistic is not None:
        where, fix = "because it is probabilistic", "load its rows, or make it with FROM INFERENCE"
        raise error("UNSUPPORTED", statement.span, what=f"INSERT INTO {known.name}", where=where, fix=fix)
    for column in columns:
        attribute = known.attribute(column.name)
        if attribute is None:
            # `at` is implicit: a stream whose event time has another name has no such attribute.
            if column.name == "at" and known.event_time != "at":
                continue
            fix = did_you_mean(column.name, [a.name for a in known.attributes])
            raise error("UNKNOWN_ATTRIBUTE", statement.span, owner=f"stream '{known.name}'", name=column.name, fix=fix)
        if common_type(column.type, attribute.type) != attribute.type:
            what = f"'{column.name}' of stream '{known.name}'"
            raise error("TYPE_MISMATCH", statement.span, what=what, expected=attribute.type, found=column.type)
