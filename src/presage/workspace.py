"""Declared names, and statements bound against them: text in, bound and optimized plans out. No Spark, no archive.

`presage check` needs nothing more; the engine adds the archive and Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from presage.analyze.values import Inserted, bind_insert
from presage.declarations.catalog_objects import (
    declare_knowledge,
    declare_model,
    declare_relation,
    declare_type,
    drop,
    refuse_known,
)
from presage.declarations.derived_streams import check_fits, parse_producer, reads, refuse_circle
from presage.declarations.options import retention_option
from presage.declarations.permissions import check_permitted
from presage.declarations.redeclaration import CREATES, Declared, declared_as, refuse_different
from presage.declarations.sinks import declare_sink
from presage.declarations.sources import check_source
from presage.errors import PresageError, did_you_mean, error, placed, raise_all
from presage.lang import parse
from presage.lang import syntax as s
from presage.lang.command_syntax import OF_SCENARIOS, Advance, CreateStatement, InsertValues
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.parser import parse_leniently
from presage.lang.recall_syntax import RecallCommand
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Attribute, Catalog, EventType, Model, Moment, Producer, Relation
from presage.model.paths import AnyPath, Roots, read_text
from presage.model.permissions import Permissions
from presage.model.semantics import Context
from presage.model.text import Source, Span
from presage.model.time import parse_timestamp
from presage.model.types import TIMESTAMP
from presage.operators.knowledge.contexts import read_context
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.references import uses_knowledge
from presage.operators.registry import parts
from presage.operators.sequence.analyze_inference import check_inferred
from presage.operators.sequence.inference.model import model_of_text
from presage.plan.query import BoundQuery
from presage.select.bind import bind_query
from presage.select.context import QueryContext
from presage.select.extensions import extensions
from presage.select.warnings import warnings_of

if TYPE_CHECKING:
    from presage.optimize import Optimized
    from presage.plan.picture import Picture


def _no_context(path: str) -> Context:
    """Of a stream that was declared before: the home knows what its file said."""
    return Context(path=path)


def _nothing_taken(path: str) -> tuple[str, str]:
    return path, ""


def wall_clock() -> int:
    return time.time_ns() // 1_000


@dataclass
class Workspace:
    """The catalog and the folders that statements may read (None: all); `base` is where relative paths begin."""

    roots: Sequence[AnyPath] | Roots | None
    base: AnyPath
    catalog: Catalog = field(default_factory=Catalog)
    now: Callable[[], int] = wall_clock
    library: Library = field(default_factory=Library)
    optimizing: bool = True
    permissions: Permissions | None = None  # None: not known here, and checked where a source or a sink runs

    @property
    def allowed(self) -> Roots:
        return Roots.of(self.roots)

    def parse(self, text: str, name: str = "query") -> s.Script:
        return parse(text, name)

    def declare(self, statement: s.Statement, again: bool = False) -> Catalog:
        """The catalog as a declaration leaves it; the caller decides when it becomes the workspace's.

        `again`: it was accepted before, in this home; where its file lies does not matter any more, and what a model's
        said is known to the home.
        """
        known = declared_as(statement, self.catalog) if isinstance(statement, CREATES) and not again else None
        if isinstance(statement, CREATES) and known is not None:
            if not statement.if_not_exists:
                free = replace(self, catalog=self.catalog.without(statement.name))
                made = declared_as(statement, free.declare(self.settle(statement)))
                assert made is not None
                refuse_different(statement, self._whole(known), made, self.catalog.kind(statement.name))
            return self.catalog
        if isinstance(statement, s.CreateType):
            after = declare_type(statement, self.catalog, _no_context if again else self._context)
            if not again:  # a home from before these options were checked opens: its source says what is wrong
                check_source(after.types[statement.name], statement)
                self._check_permitted(f"stream '{statement.name}'", after.types[statement.name].options, statement)
                self._settle_path(statement)
            if statement.inference is not None and not again:
                with placed(statement.span):
                    check_inferred(after.types[statement.name], after, statement.span)
            return after
        if isinstance(statement, s.CreateRelation):
            return declare_relation(statement, self.catalog, str if again else self._resolve)
        if isinstance(statement, CreateModel):
            resolve, read = (str, lambda path: "") if again else (self._resolve, self._model_text)
            return declare_model(statement, self.catalog, resolve, read)
        if isinstance(statement, CreateKnowledge):
            after = declare_knowledge(statement, self.catalog, _nothing_taken if again else self._take_in, self.now())
            return after if again else self._sound(after, statement.span)
        if isinstance(statement, RefreshKnowledge):
            return self.catalog if again else self._refreshed(statement)
        if isinstance(statement, s.CreateSink):
            after = declare_sink(statement, self.catalog, again)
            if not again:
                self._check_permitted(f"sink '{statement.name}'", after.sinks[statement.name].options, statement)
                self._settle_path(statement)
            return after
        if isinstance(statement, s.Drop):
            return self._dropped(statement)
        if isinstance(statement, s.Query) and statement.insert_into is not None:
            return self._declare_derived(statement, self.bind(statement))
        raise error("INTERNAL", statement.span, what=f"{type(statement).__name__} declares nothing")

    def settle(self, statement: s.Statement) -> s.Statement:
        """The statement with the present time for `now`, and the whole path of its folder: it means the same whenever,
        and wherever, it is read again."""
        if isinstance(statement, s.CreateType | s.CreateSink):
            return self._settle_path(statement)
        if isinstance(statement, s.CreateRelation | CreateModel) and statement.path is not None:
            known = declared_as(statement, self.catalog) if statement.if_not_exists else None
            with placed(statement.span):
                return statement if known is not None else replace(statement, path=self._resolve(statement.path))
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
        items = extensions(library=self.library, optimizing=self.optimizing)
        context = QueryContext(self.catalog, self.now(), parse_producer, items, since, live=live)
        bound = bind_query(query, context)
        return bound if source is None else replace(bound, warnings=warnings_of(query, source))

    def optimize(self, query: BoundQuery) -> Optimized:
        # Here and below: `presage check` needs neither, and they take a third of its time to load.
        from presage.optimize import optimize

        return optimize(query.plan, tuple(rule for part in parts("rules").values() for rule in part.RULES))

    def explain(self, query: BoundQuery) -> str:
        from presage.plan.explain import explain

        optimized = self.optimize(query)
        describe = {kind: told for part in parts("explain").values() for kind, told in part.DESCRIBE.items()}
        return explain(query, optimized.plan, optimized.applied, describe)

    def look(self, statement: s.Explain) -> str:
        """The answer to EXPLAIN: a text, or the text of a picture."""
        query = self.bind(statement.statement)
        return self.picture(query, span=statement.span).svg if statement.format == "svg" else self.explain(query)

    def picture(self, *queries: BoundQuery, span: Span | None = None) -> Picture:
        """The automata and patterns of the queries, drawn; an error if they have none."""
        from presage.operators.pictures import picture_of_all
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
            retention_option(statement)
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

    def _model_text(self, path: str) -> str:
        """The text of a model's file, which must be one."""
        text = read_text(path, self.allowed)
        model_of_text(text, path)
        return text

    def _context(self, path: str) -> Context:
        if "://" in path:
            raise error(
                "BAD_CONTEXT",
                path=path,
                why="nothing is fetched from the network",
                fix="put its content into a file, and name that",
            )
        found = self._resolve(path)
        return read_context(read_text(found, self.allowed), found)

    def _take_in(self, path: str) -> tuple[str, str]:
        if "://" in path:
            raise error(
                "UNSUPPORTED",
                what=f"'{path}'",
                where="as a file: nothing is fetched from the network",
                fix="save it in a file, and name that",
            )
        found = self._resolve(path)
        return found, self.library.take_in(found, self.allowed)

    def _refreshed(self, statement: RefreshKnowledge) -> Catalog:
        """The catalog with what the files of a knowledge base say now."""
        base = self.catalog.knowledge.get(statement.name)
        if base is None:
            known = list(self.catalog.knowledge)
            fix = did_you_mean(statement.name, known, "declare it with CREATE KNOWLEDGE")
            raise error("UNKNOWN_OBJECT", statement.span, kind="knowledge base", name=statement.name, fix=fix)
        with placed(statement.span):
            digests = tuple(self.library.take_in(path, self.allowed) for path in base.paths)
            if digests == base.files:
                return self.catalog
        return self._sound(self.catalog.with_knowledge(replace(base, files=digests, since=self.now())), statement.span)

    def _sound(self, after: Catalog, span: Span) -> Catalog:
        """What cannot be used does not take the place of what can."""
        with placed(span):
            self.library.graph(after.knowledge.values())
        return after

    def resolve_folder(self, path: str) -> Path:
        """The folder of a source or sink, if it may be used; it may not be there yet."""
        return self.allowed.resolve(path, self.base, must_exist=False)

    def _check_permitted(self, owner: str, options: Mapping[str, str], node: s.CreateType | s.CreateSink) -> None:
        if self.permissions is not None:
            check_permitted(owner, options, self.permissions, {o.name.lower(): o.span for o in node.options})

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

    def _whole(self, known: Declared) -> Declared:
        """With the whole path of its file, which homes of older releases keep as it was written."""
        if isinstance(known, Relation | Model) and known.path is not None:
            return replace(known, path=str(self.allowed.resolve(known.path, self.base, must_exist=False)))
        return known

    def _resolve(self, path: str) -> str:
        return str(self.allowed.resolve(path, self.base))

    def _dropped(self, statement: s.Drop) -> Catalog:
        """What something else needs cannot go; with CASCADE that goes, too."""
        users, catalog = self.dependents(statement), self.catalog
        if users and not statement.cascade:
            drop(statement, self.catalog)  # a name that is not there, or those that need it by their declarations
            raise error("IN_USE", statement.span, name=statement.name, users=f"'{users[-1]}'")
        for name in users:
            catalog = catalog.without(name)
        return drop(statement, catalog)

    def dependents(self, statement: s.Drop) -> list[str]:
        """The types that need what is dropped, and those that need them: each of them before what it needs."""
        found: dict[str, None] = {}
        todo = [(statement.name, statement.kind == "knowledge")]
        while todo:
            name, known = todo.pop(0)
            users = [*self.catalog.heirs(name), *self.catalog.inferred(name), *self._readers(name, known)]
            for user in dict.fromkeys(users):
                found.pop(user, None)  # further back: it needs what was found after it, too
                found[user] = None
                todo.append((user, False))
        return [*found][::-1]

    def _readers(self, name: str, known: bool) -> list[str]:
        """Derived streams that read a stream or relation; `known`: the name is that of a knowledge base."""
        found = []
        for stream in self.catalog.types.values():
            for query in (parse_producer(producer.text) for producer in stream.producers):
                if (known and uses_knowledge(query)) or (stream.name != name and reads(query, name)):
                    found.append(stream.name)
        return found

    def check_producers(self) -> None:
        """Fail if a statement of a derived stream that speaks of what is known cannot be understood any more."""
        for stream in self.catalog.types.values():
            for producer in stream.producers:
                query = parse_producer(producer.text)
                if uses_knowledge(query):
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
        refuse_circle(statement, name, self.catalog)
        if name in self.catalog.relations or name in self.catalog.models:
            kind = self.catalog.kind(name)
            raise error("NOT_A_STREAM", statement.span, name=name, kind=kind, fix="choose another name")
        at = next(c for c in bound.columns if c.name.lower() == "at")
        if at.type != TIMESTAMP:
            raise error(
                "TYPE_MISMATCH",
                statement.span,
                what=f"the column '{at.name}' of INSERT INTO {name}, its event time,",
                expected="TIMESTAMP",
                found=at.type,
                fix="give the column another name with AS",
            )
        known = self.catalog.types.get(name)
        if known is None:
            refuse_known(name, self.catalog, statement.span)
            attributes = tuple(Attribute(c.name, c.type) for c in bound.columns)
            producers = (Producer(bound.text, since, number=number),)
            made = EventType(name, "derived", attributes, event_time=at.name, producers=producers)
            return self.catalog.with_type(made)
        check_fits(statement, known, bound.columns)
        if number is None and any(p.text == bound.text and p.number is None for p in known.producers):
            return self.catalog
        producer = Producer(bound.text, since, number=number)
        return self.catalog.with_type(replace(known, producers=(*known.producers, producer)))


def _settled(bound: s.Bound | None, now: int) -> s.Bound | None:
    if bound is None or bound.micros is not None:
        return bound
    return replace(bound, micros=bound.at(now), offset=0, months=0)
