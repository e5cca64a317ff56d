"""The workspace: the catalog, and the binding and optimization of statements against it. No Spark, no archive.

`presage check` needs nothing more; the engine adds the archive and Spark. Knowledge bases are named here, unlike other
capabilities: like the catalog they serve every query, and whoever builds a workspace decides where they are stored.
Models are, too, because the catalog holds them and their files have paths like those of relations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from presage.analyze.values import Inserted, bind_insert
from presage.declarations import catalog_objects
from presage.declarations.contexts import read_context
from presage.declarations.derived_streams import check_fits, parse_producer, reads, refuse_circle, uses_knowledge
from presage.declarations.extension import Declarations
from presage.declarations.options import retention_option
from presage.declarations.permissions import check_permitted
from presage.declarations.redeclaration import CREATES, Declared, declared_as, refuse_different
from presage.declarations.sinks import declare_sink
from presage.declarations.sources import check_source
from presage.errors import PresageError, did_you_mean, error, placed, raise_all
from presage.lang import parse
from presage.lang import syntax as s
from presage.lang.command_syntax import OF_SCENARIOS, Advance, CreateStatement, EventStatement, InsertValues
from presage.lang.parser import parse_leniently
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Attribute, Catalog, EventType, Model, Moment, Producer, Relation
from presage.model.paths import AnyPath, Roots, read_text
from presage.model.permissions import Permissions
from presage.model.semantics import Context
from presage.model.text import Source, Span
from presage.model.time import parse_timestamp, wall_clock
from presage.model.types import TIMESTAMP
from presage.operators.knowledge.library import Library
from presage.operators.registry import capabilities_in, part, parts
from presage.plan.query import BoundQuery
from presage.select.bind import bind_query
from presage.select.context import QueryContext
from presage.select.extensions import extensions
from presage.select.warnings import warnings_of

if TYPE_CHECKING:
    from presage.optimize import Optimized
    from presage.plan.picture import Picture


@dataclass
class Workspace:
    """The catalog and the folders that statements may read (None: all); `base` is where relative paths begin."""

    roots: Sequence[AnyPath] | Roots | None
    base: AnyPath
    catalog: Catalog = field(default_factory=Catalog)
    now: Callable[[], int] = wall_clock
    library: Library = field(default_factory=Library)
    optimizing: bool = True
    permissions: Permissions | None = None  # None: checked only where a source or sink runs
    statements: frozenset[str] = frozenset()  # deployed, or created earlier in the text that is checked

    @property
    def allowed(self) -> Roots:
        return Roots.of(self.roots)

    def parse(self, text: str, name: str = "query") -> s.Script:
        return parse(text, name)

    def declare(self, statement: s.Statement, again: bool = False) -> Catalog:
        """The catalog after a declaration; the caller decides when it becomes the workspace's.

        `again`: the home accepted it before, and stores the content of its files, which are not read again.
        """
        known = declared_as(statement, self.catalog) if isinstance(statement, CREATES) and not again else None
        if isinstance(statement, CREATES) and known is not None:
            if not statement.if_not_exists:
                free = replace(self, catalog=self.catalog.without(statement.name))
                made = declared_as(statement, free.declare(self.settle(statement)))
                assert made is not None
                kind = self.catalog.kind(statement.name)
                refuse_different(statement, self._with_absolute_path(known), made, kind)
            return self.catalog
        if isinstance(statement, s.CreateType):
            context = (lambda path: Context(path=path)) if again else self._context
            after = catalog_objects.declare_type(statement, self.catalog, context)
            if not again:  # a home of an older version may have invalid options, which its source reports
                check_source(after.types[statement.name], statement)
                self._check_permitted(f"stream '{statement.name}'", after.types[statement.name].options, statement)
                self._settle_path(statement)
                with placed(statement.span):
                    for capability in _declarations():
                        capability.check_type(after.types[statement.name], after, statement.span)
            return after
        if isinstance(statement, s.CreateRelation):
            return catalog_objects.declare_relation(statement, self.catalog, str if again else self.resolve)
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
        for capability in _declarations():
            if type(statement) in capability.declare:
                return capability.declare[type(statement)](statement, self, again)
        raise error("INTERNAL", statement.span, what=f"{type(statement).__name__} declares nothing")

    def settle(self, statement: s.Statement) -> s.Statement:
        """The statement with the current time for `now`, and with absolute paths: it means the same in every later
        run."""
        if isinstance(statement, s.CreateType | s.CreateSink):
            return self._settle_path(statement)
        if isinstance(statement, s.CreateRelation | CreateModel) and statement.path is not None:
            known = declared_as(statement, self.catalog) if statement.if_not_exists else None
            with placed(statement.span):
                return statement if known is not None else replace(statement, path=self.resolve(statement.path))
        if not isinstance(statement, s.Query) or statement.within is None:
            return statement
        now = self.now()
        low, high = (_settled(bound, now) for bound in (statement.within.low, statement.within.high))
        return replace(statement, within=replace(statement.within, low=low, high=high))

    def bind(
        self, query: s.Query, since: Moment | None = None, live: bool = False, source: Source | None = None
    ) -> BoundQuery:
        """The plan of a query as it is written; `live`: of a deployed one, which may begin at `since`. `source`: its
        text, for warnings."""
        items = extensions(library=self.library, optimizing=self.optimizing)
        context = QueryContext(self.catalog, self.now(), parse_producer, items, since, live=live)
        bound = bind_query(query, context)
        return bound if source is None else replace(bound, warnings=warnings_of(query, source))

    def optimize(self, query: BoundQuery) -> Optimized:
        # Imported here and below: `presage check` needs neither, and they take a third of its time to load.
        from presage.optimize import in_order, optimize

        # The rules of a capability change its own nodes alone.
        own = (part(name, "rules") for name in capabilities_in(query.plan))
        return optimize(query.plan, in_order(rule for module in own if module is not None for rule in module.RULES))

    def explain(self, query: BoundQuery) -> str:
        from presage.plan.explain import explain

        optimized = self.optimize(query)
        describe = {kind: told for part in parts("explain").values() for kind, told in part.DESCRIBE.items()}
        return explain(query, optimized.plan, optimized.applied, describe)

    def look(self, statement: s.Explain) -> str:
        """The text of EXPLAIN, or of its picture."""
        query = self.bind(statement.statement)
        return self.picture(query, span=statement.span).svg if statement.format == "svg" else self.explain(query)

    def picture(self, *queries: BoundQuery, span: Span | None = None) -> Picture:
        """The automata and patterns of the queries, drawn; an error if they have none."""
        from presage.operators.svg import picture_of_all
        from presage.plan.picture import Picture

        drawn = picture_of_all([self.optimize(query).plan for query in queries])
        if drawn is None:
            what, where = "a picture (FORMAT svg)", "for a query without MATCH_RECOGNIZE and PATTERN"
            fix = "ask for the text: EXPLAIN without FORMAT svg"
            raise error("UNSUPPORTED", span, what=what, where=where, fix=fix)
        return Picture(drawn)

    def check(self, text: str, name: str = "query") -> s.Script:
        """Bind every statement of a text in turn; raises all errors together."""
        script, broken = parse_leniently(text, name)
        errors: list[PresageError] = [*broken]
        for statement in script.statements:
            try:
                self.follow(statement)
            except PresageError as problem:
                errors.extend(e.in_source(script.source) for e in (problem, *problem.others))
                problem.others = ()
        raise_all(sorted(errors, key=lambda e: e.span.start if e.span else 0))
        return script

    def follow(self, statement: s.Statement) -> None:
        """Bind a statement, and apply its declaration to the catalog."""
        if isinstance(statement, s.Explain) and statement.format == "svg":
            self.look(statement)
        elif isinstance(statement, s.Explain):
            self.bind(statement.statement)
        elif isinstance(statement, s.Query) and statement.insert_into is None:
            self.bind(statement)
        elif isinstance(statement, s.Describe):
            self.named(statement.name, statement)
        elif isinstance(statement, s.Drop) and statement.kind == "statement" and statement.name in self.statements:
            self.statements -= {statement.name}
        elif isinstance(statement, CreateStatement):
            self.statements |= {statement.name}
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
        elif not isinstance(statement, s.Show | EventStatement):
            self.catalog = self.declare(statement)

    def inserted(self, statement: InsertValues) -> tuple[EventType, Inserted]:
        """The stream of INSERT … VALUES, and its events."""
        with placed(statement.span):
            stream = self.loadable(statement.stream)
        return stream, bind_insert(statement, stream)

    def advanced(self, statement: Advance) -> tuple[list[EventType], int]:
        """The streams of an ADVANCE, and its time."""
        micros = parse_timestamp(statement.to)
        if micros is None:
            raise error("BAD_TIMESTAMP", statement.span, found=statement.to)
        with placed(statement.span):
            one = [self.loadable(statement.stream)] if statement.stream is not None else None
        every = (t for t in self.catalog.types.values() if t.kind == "stream" and t.inference is None)
        return one or [*every], micros

    def named(self, name: str, statement: s.Statement) -> EventType | None:
        """The type of that name; None for a relation, a model or a knowledge base; raises for an unknown name."""
        if name not in self.catalog.taken():
            raise error("UNKNOWN_STREAM", statement.span, name=name, fix=did_you_mean(name, self.catalog.taken()))
        return self.catalog.types.get(name)

    def loadable(self, name: str) -> EventType:
        """The declared stream of that name, if events can be loaded into it; else raises."""
        stream = self.catalog.types.get(name)
        if stream is None:
            if name in self.catalog.taken():
                kind = self.catalog.kind(name)
                fix = f"a {kind} is given what it holds where it is declared"
                raise error("NOT_A_STREAM", name=name, kind=kind, fix=fix)
            known = [t.name for t in self.catalog.types.values() if t.kind == "stream"]
            fix = did_you_mean(name, known, "declare it first with CREATE STREAM")
            raise error("UNKNOWN_STREAM", name=name, fix=fix)
        if stream.kind != "stream":
            kind = "schema" if stream.kind == "schema" else "derived stream"
            raise error("NOT_A_STREAM", name=name, kind=kind, fix="load a stream that CREATE STREAM declares")
        if stream.inference is not None:
            fix = f"load '{stream.inference.over}', from which '{name}' is inferred"
            raise error("UNSUPPORTED", what=f"loading '{name}'", where="because it is made by inference", fix=fix)
        return stream

    def _context(self, path: str) -> Context:
        if "://" in path:
            why, fix = "nothing is fetched from the network", "put its content into a file, and name that"
            raise error("BAD_CONTEXT", path=path, why=why, fix=fix)
        file = self.resolve(path)
        return read_context(read_text(file, self.allowed), file)

    def resolve_folder(self, path: str) -> Path:
        """The folder of a source or sink, if it is allowed; it need not exist yet."""
        return self.allowed.resolve(path, self.base, must_exist=False)

    def _check_permitted(self, owner: str, options: Mapping[str, str], node: s.CreateType | s.CreateSink) -> None:
        if self.permissions is not None:
            spans = {o.name.lower(): o.span for o in node.options}
            check_permitted(owner, options, self.permissions, spans, self.allowed.bounded)

    def _settle_path(self, statement: s.CreateType | s.CreateSink) -> s.CreateType | s.CreateSink:
        """The declaration with the absolute path of its folder, if it has one."""
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

    def _with_absolute_path(self, known: Declared) -> Declared:
        """Homes of older versions store relative paths of files."""
        if isinstance(known, Relation | Model) and known.path is not None:
            return replace(known, path=str(self.allowed.resolve(known.path, self.base, must_exist=False)))
        return known

    def resolve(self, path: str) -> str:
        return str(self.allowed.resolve(path, self.base))

    def _dropped(self, statement: s.Drop) -> Catalog:
        """The catalog after a DROP; raises if something depends on the name, which CASCADE drops, too."""
        users, catalog = self.dependents(statement), self.catalog
        if users and not statement.cascade:
            catalog_objects.drop(statement, self.catalog)  # raises for an unknown name, and for users in declarations
            raise error("IN_USE", statement.span, name=statement.name, users=f"'{users[-1]}'")
        for name in users:
            catalog = catalog.without(name)
        return catalog_objects.drop(statement, catalog)

    def dependents(self, statement: s.Drop) -> list[str]:
        """The types that depend on what is dropped, directly or not: each before its own dependencies."""
        dependents: dict[str, None] = {}
        todo = [(statement.name, statement.kind == "knowledge")]
        while todo:
            name, is_knowledge = todo.pop(0)
            users = [*self.catalog.heirs(name), *self.catalog.inferred(name), *self._readers(name, is_knowledge)]
            for user in dict.fromkeys(users):
                dependents.pop(user, None)  # moved to the end: it also depends on the types before it
                dependents[user] = None
                todo.append((user, False))
        return [*dependents][::-1]

    def _readers(self, name: str, is_knowledge: bool) -> list[str]:
        """Derived streams that read a stream, a relation or, with `is_knowledge`, the knowledge bases."""
        readers = []
        for stream in self.catalog.types.values():
            for query in (parse_producer(producer.text) for producer in stream.producers):
                if (is_knowledge and uses_knowledge(query)) or (stream.name != name and reads(query, name)):
                    readers.append(stream.name)
        return readers

    def check_producers(self) -> None:
        """Raise if a producer of a derived stream that uses knowledge cannot be bound any more."""
        for stream in self.catalog.types.values():
            for producer in stream.producers:
                query = parse_producer(producer.text)
                if uses_knowledge(query):
                    try:
                        self.bind(query, producer.since)
                    except PresageError as problem:
                        raise error("KNOWLEDGE_NEEDED", name=stream.name, why=problem.message) from problem

    def declare_producer(self, statement: s.Query, since: Moment | None, number: int) -> Catalog:
        """The catalog with a deployed INSERT INTO, which begins at `since`."""
        return self._declare_derived(statement, self.bind(statement, since), since, number)

    def end_producer(self, name: str, number: int, until: Moment) -> Catalog:
        """The catalog after a deployed INSERT INTO has been stopped; its rows stay."""
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
            what = f"the column '{at.name}' of INSERT INTO {name}, its event time,"
            fix = "give the column another name with AS"
            raise error("TYPE_MISMATCH", statement.span, what=what, expected="TIMESTAMP", found=at.type, fix=fix)
        producer = Producer(bound.text, since, number=number)
        stream = self.catalog.types.get(name)
        if stream is None:
            catalog_objects.refuse_known(name, self.catalog, statement.span)
            attributes = tuple(Attribute(c.name, c.type) for c in bound.columns)
            return self.catalog.with_type(
                EventType(name, "derived", attributes, event_time=at.name, producers=(producer,))
            )
        check_fits(statement, stream, bound.columns)
        if number is None and any(p.text == bound.text and p.number is None for p in stream.producers):
            return self.catalog
        return self.catalog.with_type(replace(stream, producers=(*stream.producers, producer)))


def _declarations() -> list[Declarations]:
    return [part.DECLARATIONS for part in parts("declare").values()]


def _settled(bound: s.Bound | None, now: int) -> s.Bound | None:
    if bound is None or bound.micros is not None:
        return bound
    return replace(bound, micros=bound.at(now), offset=0, months=0)
