"""Declared names, and statements bound against them: text in, bound and optimized plans out. No Spark, no archive.

`presage check` needs nothing more; the engine adds the archive and Spark.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from presage.analyze.declare import (
    declare_knowledge,
    declare_model,
    declare_relation,
    declare_type,
    drop,
    refuse_known,
)
from presage.analyze.declare_sink import declare_sink
from presage.analyze.declare_source import check_source
from presage.analyze.declare_statement import retention_said
from presage.analyze.values import Inserted, bind_insert
from presage.analyze.warnings import warnings_of
from presage.errors import PresageError, did_you_mean, error, placed, raise_all
from presage.knowledge.analyze import KnowledgeRoom
from presage.knowledge.contexts import read_context
from presage.knowledge.library import Library
from presage.knowledge.speaking import speaks_of_knowledge
from presage.lang import parse, parse_statement
from presage.lang import syntax as s
from presage.lang.acting_syntax import OF_SCENARIOS, Advance, CreateStatement, InsertValues
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.parser import parse_leniently
from presage.lang.pattern_syntax import EventTerm
from presage.lang.recall_syntax import HistorySource, RecallCommand
from presage.lang.sequence_syntax import CreateModel, Subgoal
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import EVENT, Attribute, Catalog, EventType, Moment, Producer
from presage.model.paths import read_text, resolve_under_roots
from presage.model.semantics import Context
from presage.model.text import Source, Span
from presage.model.time import parse_timestamp
from presage.model.types import TIMESTAMP, common_type
from presage.patterns.analyze import PatternsRoom
from presage.plan.nodes import Field
from presage.plan.query import BoundQuery
from presage.prediction.analyze import PredictionRoom
from presage.probability.analyze import ProbabilityRoom
from presage.probability.analyze_inference import check_inferred
from presage.probability.inference.model import model_of_text
from presage.recall.analyze import RecallRoom
from presage.windows.analyze import QueryContext, bind_query

if TYPE_CHECKING:
    from presage.optimize import Optimized
    from presage.plan.picture import Picture


class _Rooms(PatternsRoom, ProbabilityRoom, PredictionRoom, KnowledgeRoom, RecallRoom):
    """Items of FROM beyond streams and windows, and words of the domain."""


def _model_text(path: str) -> str:
    """The text of a model's file, which must be one."""
    text = read_text(path)
    model_of_text(text, path)
    return text


def _no_context(path: str) -> Context:
    """Of a stream that was declared before: the home knows what its file said."""
    return Context(path=path)


def _nothing_taken(path: str) -> tuple[str, str]:
    return path, ""


def wall_clock() -> int:
    return time.time_ns() // 1_000


@dataclass
class Workspace:
    """The catalog and the folders that statements may read; `base` is where relative paths begin."""

    roots: Sequence[str | os.PathLike[str]]
    base: str | os.PathLike[str]
    catalog: Catalog = field(default_factory=Catalog)
    now: Callable[[], int] = wall_clock
    library: Library = field(default_factory=Library)
    optimizing: bool = True

    def parse(self, text: str, name: str = "query") -> s.Script:
        return parse(text, name)

    def declare(self, statement: s.Statement, again: bool = False) -> Catalog:
        """The catalog as a declaration leaves it; the caller decides when it becomes the workspace's.

        `again`: it was accepted before, in this home; where its file lies does not matter any more, and what a model's
        said is known to the home.
        """
        if isinstance(statement, s.CreateType):
            after = declare_type(statement, self.catalog, _no_context if again else self._context)
            if not again:  # a home from before these options were checked opens: its source says what is wrong
                check_source(after.types[statement.name], statement)
                self._settle_path(statement)
            if statement.inference is not None and not again:
                with placed(statement.span):
                    check_inferred(after.types[statement.name], after, statement.span)
            return after
        if isinstance(statement, s.CreateRelation):
            return declare_relation(statement, self.catalog, str if again else self._resolve)
        if isinstance(statement, CreateModel):
            resolve, read = (str, lambda path: "") if again else (self._resolve, _model_text)
            return declare_model(statement, self.catalog, resolve, read)
        if isinstance(statement, CreateKnowledge):
            after = declare_knowledge(statement, self.catalog, _nothing_taken if again else self._take_in, self.now())
            return after if again else self._sound(after, statement.span)
        if isinstance(statement, RefreshKnowledge):
            return self.catalog if again else self._refreshed(statement)
        if isinstance(statement, s.CreateSink):
            after = declare_sink(statement, self.catalog)
            if not again:
                self._settle_path(statement)
            return after
        if isinstance(statement, s.Drop):
            self._refuse_if_read(statement)
            return drop(statement, self.catalog)
        if isinstance(statement, s.Query) and statement.insert_into is not None:
            return self._declare_derived(statement, self.bind(statement))
        raise error("INTERNAL", statement.span, what=f"{type(statement).__name__} declares nothing")

    def settle(self, statement: s.Statement) -> s.Statement:
        """The statement with the present time for `now`, and the whole path of its folder: it means the same whenever,
        and wherever, it is read again."""
        if isinstance(statement, s.CreateType | s.CreateSink):
            return self._settle_path(statement)
        if not isinstance(statement, s.Query) or statement.within is None:
            return statement
        now = self.now()
        low, high = (_settled(bound, now) for bound in (statement.within.low, statement.within.high))
        return replace(statement, within=replace(statement.within, low=low, high=high))

    def bind(
        self, query: s.Query, since: Moment | None = None, live: bool = False, source: Source | None = None
    ) -> BoundQuery:
        """The plan of a query as the user wrote it; `live`: of a standing one, which may begin at `since`. With the
        `source` that it was written in, the plan has the warnings about it."""
        rooms = _Rooms(self.library, self.optimizing)
        context = QueryContext(self.catalog, self.now(), _parse_producer, rooms, since, live=live)
        bound = bind_query(query, context)
        return bound if source is None else replace(bound, warnings=warnings_of(query, source))

    def optimize(self, query: BoundQuery) -> Optimized:
        # Here and below: `presage check` needs neither, and they take a third of its time to load.
        from presage.optimize import optimize
        from presage.patterns.rules import RULES as PATTERNS
        from presage.probability.rules import RULES as PROBABILITY
        from presage.windows.rules import RULES as WINDOWS

        return optimize(query.plan, (*WINDOWS, *PATTERNS, *PROBABILITY))

    def explain(self, query: BoundQuery) -> str:
        from presage.patterns.explain import DESCRIBE as PATTERNS
        from presage.plan.explain import explain
        from presage.prediction.explain import DESCRIBE as PREDICTION
        from presage.probability.explain import DESCRIBE as PROBABILITY
        from presage.recall.explain import DESCRIBE as RECALL
        from presage.windows.explain import DESCRIBE as WINDOWS

        optimized = self.optimize(query)
        describe = {**WINDOWS, **PATTERNS, **PROBABILITY, **PREDICTION, **RECALL}
        return explain(query, optimized.plan, optimized.applied, describe)

    def look(self, statement: s.Explain) -> str:
        """The answer to EXPLAIN: a text, or the text of a picture."""
        query = self.bind(statement.statement)
        return self.picture(query, span=statement.span).svg if statement.format == "svg" else self.explain(query)

    def picture(self, *queries: BoundQuery, span: Span | None = None) -> Picture:
        """The automata and patterns of the queries, drawn; an error if they have none."""
        from presage.patterns.picture import picture_of_all
        from presage.plan.picture import Picture

        drawn = picture_of_all([self.optimize(query).plan for query in queries])
        if drawn is None:
            where, fix = (
                "for a query without MATCH_RECOGNIZE and PATTERN",
                "ask for the text: EXPLAIN without FORMAT svg",
            )
            raise error("UNSUPPORTED", span, what="a picture (FORMAT svg)", where=where, fix=fix)
        return Picture(drawn)

    def check(self, text: str, name: str = "query") -> s.Script:
        """Bind every statement of a text in turn; raises all errors of the run."""
        errors: list[PresageError] = []
        script, broken = parse_leniently(text, name)
        errors.extend(broken)
        for statement in script.statements:
            try:
                self.follow(statement)
            except PresageError as problem:
                errors.extend(e.in_source(script.source) for e in (problem, *problem.others))
                problem.others = ()
        raise_all(sorted(errors, key=lambda e: e.span.start if e.span else 0))
        return script

    def follow(self, statement: s.Statement) -> None:
        """Bind a statement; what it declares counts from here on."""
        if isinstance(statement, s.Explain) and statement.format == "svg":
            self.look(statement)
        elif isinstance(statement, s.Explain):
            self.bind(statement.statement)
        elif isinstance(statement, s.Query) and statement.insert_into is None:
            self.bind(statement)
        elif isinstance(statement, s.Describe):
            self.named(statement.name, statement)
        elif isinstance(statement, CreateStatement):
            retention_said(statement)
            self.bind(statement.query, live=True)
            if statement.query.insert_into is not None:
                self.catalog = self.declare(statement.query)
        elif isinstance(statement, InsertValues):
            self.inserted(statement)
        elif isinstance(statement, Advance):
            self.advanced(statement)
        elif isinstance(statement, OF_SCENARIOS):
            fix = "presage test carries it out"
            raise error("UNSUPPORTED", statement.span, what=statement.word, where="outside of a scenario", fix=fix)
        elif not isinstance(statement, s.Show | RecallCommand):
            self.catalog = self.declare(statement)

    def inserted(self, statement: InsertValues) -> tuple[EventType, Inserted]:
        """The stream of INSERT … VALUES, and its events."""
        with placed(statement.span):
            stream = self.loadable(statement.stream)
        return stream, bind_insert(statement, stream)

    def advanced(self, statement: Advance) -> tuple[list[EventType], int]:
        """The streams that ADVANCE speaks of, and its time."""
        micros = parse_timestamp(statement.to)
        if micros is None:
            raise error("BAD_TIMESTAMP", statement.span, found=statement.to)
        with placed(statement.span):
            one = [self.loadable(statement.stream)] if statement.stream is not None else None
        every = (t for t in self.catalog.types.values() if t.kind == "stream" and t.inference is None)
        return one or [*every], micros

    def named(self, name: str, statement: s.Statement) -> EventType | None:
        """The type of that name, None for a relation, a model or a knowledge base; an error for none of them."""
        if name not in self.catalog.taken():
            raise error("UNKNOWN_STREAM", statement.span, name=name, fix=did_you_mean(name, self.catalog.taken()))
        return self.catalog.types.get(name)

    def loadable(self, name: str) -> EventType:
        """The declared stream of that name, which events can be loaded into."""
        found = self.catalog.types.get(name)
        if found is None:
            if name in self.catalog.taken():
                kind = self.catalog.kind(name)
                fix = f"a {kind} is given what it holds where it is declared"
                raise error("NOT_A_STREAM", name=name, kind=kind, fix=fix)
            known = [t.name for t in self.catalog.types.values() if t.kind == "stream"]
            fix = did_you_mean(name, known, "declare it first with CREATE STREAM")
            raise error("UNKNOWN_STREAM", name=name, fix=fix)
        if found.kind != "stream":
            kind = "schema" if found.kind == "schema" else "derived stream"
            raise error("NOT_A_STREAM", name=name, kind=kind, fix="load a stream that CREATE STREAM declares")
        if found.inference is not None:
            fix = f"load '{found.inference.over}': what '{name}' says is inferred from that"
            raise error("UNSUPPORTED", what=f"loading '{name}'", where="because it is made by inference", fix=fix)
        return found

    def _context(self, path: str) -> Context:
        if "://" in path:
            raise error("BAD_CONTEXT", path=path, why="nothing is fetched from the network",
                        fix="put its content into a file, and name that")  # fmt: skip
        found = self._resolve(path)
        return read_context(read_text(found), found)

    def _take_in(self, path: str) -> tuple[str, str]:
        if "://" in path:
            raise error("UNSUPPORTED", what=f"'{path}'", where="as a file: nothing is fetched from the network",
                        fix="save it in a file, and name that")  # fmt: skip
        found = self._resolve(path)
        return found, self.library.take_in(found)

    def _refreshed(self, statement: RefreshKnowledge) -> Catalog:
        """The catalog with what the files of a knowledge base say now."""
        base = self.catalog.knowledge.get(statement.name)
        if base is None:
            known = list(self.catalog.knowledge)
            fix = did_you_mean(statement.name, known, "declare it with CREATE KNOWLEDGE")
            raise error("UNKNOWN_OBJECT", statement.span, kind="knowledge base", name=statement.name, fix=fix)
        with placed(statement.span):
            digests = tuple(self.library.take_in(path) for path in base.paths)
            if digests == base.files:
                return self.catalog
        return self._sound(self.catalog.with_knowledge(replace(base, files=digests, since=self.now())), statement.span)

    def _sound(self, after: Catalog, span: Span) -> Catalog:
        """What cannot be used does not take the place of what can."""
        with placed(span):
            self.library.graph(after.knowledge.values())
        return after

    def resolve_folder(self, path: str) -> Path:
        """The folder of a source or sink, under the roots; it may not be there yet."""
        return resolve_under_roots(path, self.roots, self.base, must_exist=False)

    def _settle_path(self, statement: s.CreateType | s.CreateSink) -> s.CreateType | s.CreateSink:
        """The declaration with the whole path of its folder, if it has one."""
        kinds = [(o.name.lower(), o.value) for o in statement.options]
        if ("source", "files") not in kinds and ("sink", "parquet") not in kinds:
            return statement
        options = []
        for option in statement.options:
            if option.name.lower() == "path":
                with placed(option.span):
                    option = replace(option, value=str(self.resolve_folder(str(option.value))))
            options.append(option)
        return replace(statement, options=tuple(options))

    def _resolve(self, path: str) -> str:
        return str(resolve_under_roots(path, self.roots, self.base))

    def _refuse_if_read(self, statement: s.Drop) -> None:
        """A stream or relation that a derived stream reads cannot go, nor what it must know."""
        for stream in self.catalog.types.values():
            for producer in stream.producers:
                query = _parse_producer(producer.text)
                knows = statement.kind == "knowledge" and speaks_of_knowledge(query)
                if knows or (stream.name != statement.name and reads(query, statement.name)):
                    raise error("IN_USE", statement.span, name=statement.name, users=f"'{stream.name}'")

    def check_producers(self) -> None:
        """Fail if a statement of a derived stream that speaks of what is known cannot be understood any more."""
        for stream in self.catalog.types.values():
            for producer in stream.producers:
                query = _parse_producer(producer.text)
                if speaks_of_knowledge(query):
                    try:
                        self.bind(query, producer.since)
                    except PresageError as problem:
                        raise error("KNOWLEDGE_NEEDED", name=stream.name, why=problem.message) from problem

    def declare_producer(self, statement: s.Query, since: Moment | None, number: int) -> Catalog:
        """The catalog with a standing INSERT INTO, which begins at `since`."""
        return self._declare_derived(statement, self.bind(statement, since), since, number)

    def end_producer(self, name: str, number: int, until: Moment) -> Catalog:
        """The catalog after a standing INSERT INTO has been stopped; what it made before stays."""
        stream = self.catalog.types[name]
        ended = tuple(replace(p, until=until) if p.number == number else p for p in stream.producers)
        return self.catalog.with_type(replace(stream, producers=ended))

    def _declare_derived(
        self, statement: s.Query, bound: BoundQuery, since: Moment | None = None, number: int | None = None
    ) -> Catalog:
        name = statement.insert_into
        assert name is not None
        _refuse_circle(statement, name, self.catalog)
        if name in self.catalog.relations or name in self.catalog.models:
            kind = self.catalog.kind(name)
            raise error("NOT_A_STREAM", statement.span, name=name, kind=kind, fix="choose another name")
        at = next(c for c in bound.columns if c.name.lower() == "at")
        if at.type != TIMESTAMP:
            raise error(
                "TYPE_MISMATCH", statement.span, what=f"the column '{at.name}' of INSERT INTO {name}, its event time,",
                expected="TIMESTAMP", found=at.type, fix="give the column another name with AS",
            )  # fmt: skip
        known = self.catalog.types.get(name)
        if known is None:
            refuse_known(name, self.catalog, statement.span)
            attributes = tuple(Attribute(c.name, c.type) for c in bound.columns)
            producers = (Producer(bound.text, since, number=number),)
            made = EventType(name, "derived", attributes, event_time=at.name, producers=producers)
            return self.catalog.with_type(made)
        _check_fits(statement, known, bound.columns)
        if number is None and any(p.text == bound.text and p.number is None for p in known.producers):
            return self.catalog
        producer = Producer(bound.text, since, number=number)
        return self.catalog.with_type(replace(known, producers=(*known.producers, producer)))


def _parse_producer(text: str) -> s.Query:
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return statement


def _settled(bound: s.Bound | None, now: int) -> s.Bound | None:
    if bound is None or bound.micros is not None:
        return bound
    return replace(bound, micros=now + bound.offset, offset=0)


def reads(query: s.Query, name: str) -> bool:
    """Whether a query names it in FROM, in a pattern or sequence, in RECALL, or as a relation in a condition."""
    named = (n for n in nodes_of(query) if isinstance(n, s.FromItem | s.Call | EventTerm | Subgoal | HistorySource))
    return any((node.stream if isinstance(node, Subgoal) else node.name) == name for node in named)


def _types_read(query: s.Query) -> list[str]:
    """The types whose events a query sees. A pattern of timers alone sees all events: they move its clock."""
    found: list[str] = []
    for item in query.items:
        if item.sequence is not None:
            found += [part.stream for part in item.sequence.parts]
            continue
        terms = [n.name for n in nodes_of(item.pattern) if isinstance(n, EventTerm)] if item.pattern else [item.name]
        found += terms or [EVENT]
        found += [n.name for n in nodes_of(item) if isinstance(n, HistorySource) and n.name]
    return found


def _refuse_circle(statement: s.Query, name: str, catalog: Catalog) -> None:
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
            raise error(
                "CYCLE", statement.span, what=f"the derived stream '{name}'", path=" <- ".join([*path[:-1], path[-1]])
            )
        # The empty schema sees every stream, so a derived stream over it would see itself.
        if path[-1] == EVENT:
            raise error(
                "CYCLE", statement.span, what=f"the derived stream '{name}'", path=f"{name} <- {EVENT} <- {name}"
            )
        for stream in catalog.streams_of(path[-1]) if reached is not None else ():
            through = path if stream.name == path[-1] else [*path, stream.name]
            for producer in stream.producers:
                todo.extend([*through, read] for read in _types_read(_parse_producer(producer.text)))


def _check_fits(statement: s.Query, known: EventType, columns: tuple[Field, ...]) -> None:
    """INSERT INTO a stream that exists: its attributes, by name, in types that widen to them."""
    if known.kind == "schema":
        raise error(
            "NOT_A_STREAM",
            statement.span,
            name=known.name,
            kind="schema",
            fix="INSERT INTO makes a stream: choose another name",
        )
    if known.probabilistic is not None:
        raise error("UNSUPPORTED", statement.span, what=f"INSERT INTO {known.name}", where="because it is "
                    "probabilistic", fix="load its rows, or make it with FROM INFERENCE")  # fmt: skip
    for column in columns:
        attribute = known.attribute(column.name)
        if attribute is None:
            # The implicit time is no attribute of a stream whose event time has another name.
            if column.name == "at" and known.event_time != "at":
                continue
            raise error(
                "UNKNOWN_ATTRIBUTE", statement.span, owner=f"stream '{known.name}'", name=column.name,
                fix=did_you_mean(column.name, [a.name for a in known.attributes]),
            )  # fmt: skip
        if common_type(column.type, attribute.type) != attribute.type:
            raise error(
                "TYPE_MISMATCH", statement.span, what=f"'{column.name}' of stream '{known.name}'",
                expected=attribute.type, found=column.type,
            )  # fmt: skip
