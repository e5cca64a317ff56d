"""The rewriting of a query from domain terms to the attributes of its streams.

Terms with a prefix become attributes, PATHs become conditions on attributes and on tables of the knowledge bases. It
happens before names are bound, so that both are allowed wherever a condition is: in WHERE, in the filters of patterns,
in DEFINE, in HAVING.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from presage.declarations.derived_streams import uses_knowledge
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import EventVariable, InTable, Path, Qualified
from presage.lang.tree_walk import nodes_of
from presage.model import types as t
from presage.model.catalog import Catalog, EventType, Virtual
from presage.model.text import Span
from presage.model.types import DataType, common_type
from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.clauses import general_form, is_clause_form
from presage.operators.knowledge.filters import FALSE, NotNativeError, all_of, any_of
from presage.operators.knowledge.graph_patterns import BLANK, meets_events, unlinked_parts
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.notes import RELATE, normalised, shortened
from presage.operators.knowledge.owl_terms import OWL, RDFS
from presage.operators.knowledge.path_selection import Selected, can_be_one, marks_of, with_aliases
from presage.operators.knowledge.path_text import parse_path, placed_at, refuse_other_rows, unknown_prefix, unsupported
from presage.operators.knowledge.paths import PathReader, Solutions
from presage.operators.knowledge.probes import Probe, sees
from presage.operators.knowledge.references import events_of
from presage.operators.knowledge.rewritten import Rewritten
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.tables import PathTable
from presage.operators.knowledge.vocabulary import Vocabulary
from presage.plan.query import RuleNote, Watched

if TYPE_CHECKING:
    from presage.operators.knowledge.graph import Graph

PREFIXES = {"rdf": ns.RDF, "rdfs": RDFS, "owl": OWL, "xsd": ns.XSD}
CONTEXT = "declare the stream with CONTEXT 'file.jsonld'"
# Prefixes that no name of a user can have: of items with the solutions of a PATH, and of virtual attributes.
SOLUTIONS, OF_STREAM = "~path", "~of"


def in_plain_words(query: s.Query, catalog: Catalog, library: Library, optimize: bool, fixed: bool) -> Rewritten:
    """`fixed`: the plan must not change when the knowledge does, so no knowledge becomes a constant."""
    return _Rewriter(query, catalog, library, optimize, fixed).rewrite()


@dataclass
class _Rewriter:
    query: s.Query
    catalog: Catalog
    library: Library
    optimize: bool
    fixed: bool
    virtual: dict[str, dict[str, Virtual]] = field(default_factory=dict)  # by type and name
    solutions: dict[Path, Selected] = field(default_factory=dict)
    notes: list[RuleNote] = field(default_factory=list)
    watched: dict[Watched, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.vocabularies: dict[str, Vocabulary] = {}
        self.prefixes = PREFIXES | _prefixes(self.query)
        self.events = events_of(self.query, self.catalog)
        if is_clause_form(self.query):
            self.query = general_form(self.query, self._split)
        self.events = events_of(self.query, self.catalog)

    @cached_property
    def graph(self) -> Graph:
        return self.library.graph(self.catalog.knowledge.values())

    def rewrite(self) -> Rewritten:
        if any(item.sequence is not None for item in self.query.items):
            node = next(n for n in nodes_of(self.query) if isinstance(n, Path | Qualified))
            fix = "make a relation of what is meant, and name it in the subgoal's WHERE"
            raise unsupported(node.span, "knowledge", "in a query over SEQUENCE […]", fix)
        refuse_other_rows(self.query, self.catalog.relations, self._parsed)
        self._collect_selected()
        query = self._changed(replace(self.query, select=with_aliases(self.query.select)))
        assert isinstance(query, s.Query)
        if self.solutions:
            query = self._with_solutions(query)
        catalog = self.catalog
        for relation in [selected.relation for selected in self.solutions.values() if selected.relation is not None]:
            catalog = catalog.with_relation(relation)
        for name, virtual in self.virtual.items():
            catalog = catalog.with_type(replace(catalog.types[name], virtual=tuple(virtual.values())))
        return Rewritten(query, catalog, tuple(self.notes), tuple(self.watched), uses_knowledge(self.query))

    def _changed(self, node: object) -> object:
        match node:
            case s.Member(base=Path() as path, name=name):
                return self._selected_value(path, name, node.span)
            case Path():
                return self._path(node)
            case Qualified():
                base = self._changed(node.base)
                assert isinstance(base, s.Expr)
                return s.Member(base, self._attribute(node), span=node.span, depth=node.depth)
            case EventVariable():
                return s.Name(node.name, span=node.span)
            case s.Node():
                updates = {k: self._changed(v) for k, v in vars(node).items() if isinstance(v, s.Node | tuple)}
                changed = {k: v for k, v in updates.items() if v is not getattr(node, k)}
                return replace(node, **changed) if changed else node  # type: ignore[arg-type]
            case tuple() if not isinstance(node, Span):
                items = tuple(self._changed(v) for v in node)
                return items if any(a is not b for a, b in zip(items, node, strict=True)) else node
        return node

    # -- terms with a prefix -----------------------------------------------------------------------------

    def _attribute(self, node: Qualified) -> str:
        """The attribute that a term means; a virtual attribute if the streams of the type name it differently."""
        written = f"{node.prefix}:{node.name}"
        if node.prefix not in self.prefixes:
            raise unknown_prefix(node.prefix, node.span, self.prefixes)
        iri = self.prefixes[node.prefix] + node.name
        event_type = self._type_of(node.base, node.span)
        streams = self._streams(event_type, node.span)
        found = {stream.name: self._vocabulary(stream).readings_of(iri) for stream in streams}
        for stream, readings in found.items():
            if len(readings) > 1:
                names = [r.attribute for r in readings]
                fix = f"the attribute of '{stream}' that you mean: {' or '.join(names)}"
                raise error("AMBIGUOUS_NAME", node.span, name=written, candidates=" or ".join(names), fix=fix)
        by_stream = {stream: readings[0] for stream, readings in found.items() if readings}
        if not by_stream:
            owner = f"{event_type.kind} '{event_type.name}'"
            raise error("UNKNOWN_TERM", node.span, owner=owner, term=written, fix=_mapped(streams, iri, self.prefixes))
        attributes = {stream: reading.attribute for stream, reading in by_stream.items()}
        self._add(normalised(written, attributes))
        if streams == [event_type]:
            return attributes[event_type.name]
        kind = self._common([r.type for r in by_stream.values()], written, node.span)
        return self._virtual(event_type, Virtual(written, kind, attributes))

    def _common(self, types: Sequence[DataType], written: str, span: Span) -> DataType:
        found = types[0]
        for other in types[1:]:
            both = common_type(found, other)
            if both is None:
                what = f"'{written}', which streams hold in different types,"
                fix = "ask the streams one by one"
                raise error("TYPE_MISMATCH", span, what=what, expected=found, found=other, fix=fix)
            found = both
        return found

    def _virtual(self, event_type: EventType, virtual: Virtual) -> str:
        self.virtual.setdefault(event_type.name, {})[virtual.name] = virtual
        return virtual.name

    def _type_of(self, base: s.Expr, span: Span) -> EventType:
        """The type of the event before a term: `e`, `a[0]`, `prev(A)`, `m.a`."""
        names = [n.name for n in nodes_of(base) if isinstance(n, s.Name | EventVariable | s.Member)]
        found = next((self.events[name] for name in names if name in self.events), None)
        if found is None:
            name = names[-1] if names else "the term"
            raise error("UNKNOWN_ALIAS", span, name=name, fix=did_you_mean("", list(self.events)))
        return self._event_type(found, span)

    def _event_type(self, name: str, span: Span) -> EventType:
        if name not in self.catalog.types:
            raise error("UNKNOWN_STREAM", span, name=name, fix=did_you_mean(name, self.catalog.names()))
        return self.catalog.types[name]

    def _streams(self, event_type: EventType, span: Span) -> list[EventType]:
        """The streams of a type, of which at least one must have a context."""
        streams = self.catalog.streams_of(event_type.name)
        if not any(stream.context is not None for stream in streams):
            derived = event_type.kind == "derived"
            fix = "ask before INSERT INTO, where the events still have their context" if derived else CONTEXT
            kind = "derived stream" if derived else event_type.kind
            raise error("NO_CONTEXT", span, name=event_type.name, kind=kind, fix=fix)
        return streams

    def _vocabulary(self, stream: EventType) -> Vocabulary:
        if stream.name not in self.vocabularies:
            self.vocabularies[stream.name] = Vocabulary(stream, self.graph)
        return self.vocabularies[stream.name]

    # -- conditions --------------------------------------------------------------------------------------

    def _parsed(self, path: Path) -> q.Group:
        return parse_path(path, self.prefixes)

    def _path(self, path: Path) -> s.Expr:
        parts = self._parts(path)
        return all_of([self._part(path, event, group) for event, group in parts])

    def _parts(self, path: Path) -> list[tuple[str | None, q.Group]]:
        group = self._parsed(path)
        if not group.variables() & self.events.keys():
            self._refuse_misspelt(path, group)
        if not self.catalog.knowledge:
            raise error("NO_KNOWLEDGE", path.span)
        return self._with_unnamed(path, unlinked_parts(group, self.events))

    def _refuse_misspelt(self, path: Path, group: q.Group) -> None:
        """Reject a PATH that uses properties of events and names none of them. It may ask about the knowledge alone."""
        if any(self._meets(group, event, path.span) for event in self.events):
            named = ", ".join(f"?{name}" for name in self.events)
            raise error("PATH_WITHOUT_EVENT", path.span, events=named, fix=f"begin at the event: {named}")

    def _with_unnamed(self, path: Path, parts: list[tuple[str | None, q.Group]]) -> list[tuple[str | None, q.Group]]:
        """The parts, with the part that names no event joined to the one event that its variables could be."""
        found = dict(parts)
        unnamed = found.get(None)
        events = [event for event in found if event is not None and self._meets(unnamed, event, path.span)]
        if unnamed is None or not events:
            return parts
        if len(events) > 1:
            what, fix = "a variable that could be any of several events", "name the event by its own variable"
            raise unsupported(path.span, what, "in one PATH", fix)
        (event,) = events
        whole = replace(found[event], elements=(*found[event].elements, *unnamed.elements))
        return [(e, whole if e == event else group) for e, group in parts if e is not None]

    def _meets(self, group: q.Group | None, event: str, span: Span) -> bool:
        streams = self.catalog.streams_of(self._event_type(self.events[event], span).name)
        return group is not None and any(meets_events(group, "", self._vocabulary(stream)) for stream in streams)

    def _split(self, path: Path) -> list[tuple[str | None, Path]]:
        """The PATH as one PATH for each of its events."""
        parts = self._with_unnamed(path, unlinked_parts(self._parsed(path), self.events))
        if len(parts) == 1:
            return [(parts[0][0], path)]
        return [(event, replace(path, text=print_group(group))) for event, group in parts]

    def _part(self, path: Path, event: str | None, group: q.Group) -> s.Expr:
        if event is None:
            reader = self._reader("", Vocabulary(EventType("", "stream", ()), self.graph), lambda name: FALSE)
            return reader.known(group)
        event_type = self._event_type(self.events[event], path.span)
        streams = self._streams(event_type, path.span)
        base = s.Name(event, span=path.span)
        if streams == [event_type]:
            return self._of_stream(path, event, group, event_type, lambda name: s.Member(base, name, span=path.span))
        ways = []
        for i, stream in enumerate(streams):
            if stream.context is None:
                continue
            condition = self._of_stream(path, event, group, stream, self._value_in(base, event_type, i, stream))
            if condition != FALSE:
                mark = s.Member(base, self._virtual(event_type, marks_of(streams)), span=path.span)
                ways.append(all_of([s.Binary("=", mark, s.Literal(i)), condition]))
        return any_of(ways)

    def _value_in(self, base: s.Name, event_type: EventType, number: int, stream: EventType) -> Callable[[str], s.Expr]:
        """The attributes of one stream of a type, as attributes of the type."""
        kinds = {a.name: a.type for a in stream.attributes}

        def value(name: str) -> s.Expr:
            own = Virtual(f"{OF_STREAM}{number}.{name}", kinds[name], {stream.name: name})
            return s.Member(base, self._virtual(event_type, own), span=base.span)

        return value

    def _of_stream(
        self, path: Path, event: str, group: q.Group, stream: EventType, value: Callable[[str], s.Expr]
    ) -> s.Expr:
        self._watch(stream, group)
        reader = self._reader(event, self._vocabulary(stream), value)
        try:
            found = reader.condition(group)
        except NotNativeError:
            found = self._probe(path, event, group, stream, value)
        return placed_at(found, path.span)

    def _watch(self, stream: EventType, group: q.Group) -> None:
        """Watch the attributes that should name an entity: values that name none are counted."""
        for reading in self._vocabulary(stream).seen_by(group):
            if reading.meaning.is_entity and reading.type == t.STRING:
                self.watched[Watched(stream.name, reading.attribute, self.library.watch(reading))] = None

    def _probe(
        self, path: Path, event: str, group: q.Group, stream: EventType, value: Callable[[str], s.Expr]
    ) -> s.Expr:
        """The pattern as a question that the store answers for every new combination of values."""
        vocabulary = self._vocabulary(stream)
        seen = vocabulary.seen_by(group)
        for reading in seen:
            if not sees(reading):
                what = f"'{reading.attribute}', which is {reading.type},"
                raise unsupported(path.span, what, "in a PATH of this form", "leave it out of the PATH")
        pattern, alone = print_group(group), meets_events(group, event, vocabulary)
        probe = Probe(pattern, event, tuple(seen), vocabulary.class_iri, alone)
        made = InTable(self.library.ask(probe), tuple(name for name, _ in probe.columns), probe.terms(value))
        seen_names = ", ".join(reading.attribute for reading in seen)
        after = f"{probe.name}, queried from the store for each new combination of {seen_names or 'nothing'}"
        self._add(RuleNote(RELATE, shortened(pattern, self.prefixes), after))
        return made

    def _reader(self, event: str, vocabulary: Vocabulary, value: Callable[[str], s.Expr]) -> PathReader:
        literals = self._literals if self.optimize and not self.fixed else None
        return PathReader(event, vocabulary, value, self.library.ask, self.optimize, literals, self._note)

    def _note(self, rule: str, before: str, after: str) -> None:
        """Record a rule, with the size of its table. Without optimization only RELATE is applied."""
        if rule == RELATE or self.optimize:
            name = after.partition("(")[0]
            rows = ""
            if name in self.library.tables:
                count = self.library.rows(name, self.catalog.knowledge.values()).num_rows
                rows = f", a table of {count:,} rows"
            self._add(RuleNote(rule, shortened(before, self.prefixes), after + rows))

    def _add(self, note: RuleNote) -> None:
        self.notes += [note] if note not in self.notes else []

    def _literals(self, table: PathTable) -> list[tuple[object, ...]]:
        name = self.library.ask(table)
        rows = self.library.rows(name, self.catalog.knowledge.values())
        return [tuple(row.values()) for row in rows.to_pylist()]

    # -- variables that are selected ---------------------------------------------------------------------

    def _collect_selected(self) -> None:
        """Collect all `PATH { … }.v` of the query: one item of FROM for each PATH, with its selected variables."""
        wanted: dict[Path, dict[str, Span]] = {}
        for node in nodes_of(self.query):
            if isinstance(node, s.Member) and isinstance(node.base, Path):
                wanted.setdefault(self._same(node.base), {}).setdefault(node.name, node.span)
        for node in nodes_of(tuple(replace(item, on=None) for item in self.query.items)):
            if isinstance(node, s.Member) and isinstance(node.base, Path):
                where = "in a filter, a pattern or a window: there are no rows yet that it could multiply"
                fix = "write the condition into the PATH, or in WHERE"
                raise unsupported(node.span, "a variable of a PATH", where, fix)
        for number, (path, names) in enumerate(sorted(wanted.items(), key=lambda pair: pair[0].span.start)):
            self.solutions[path] = self._solutions(number, path, names)

    def _same(self, path: Path) -> Path:
        """The PATH in its canonical text: equal for PATHs that mean the same."""
        return Path(print_group(self._parsed(path)), path.body, span=path.span)

    def _solutions(self, number: int, path: Path, names: Mapping[str, Span]) -> Selected:
        parts = self._parts(path)
        visible = {name for name in q.visible(self._parsed(path)) if not name.startswith(BLANK)}
        for name, span in names.items():
            if name in self.events or name not in visible:
                fix = did_you_mean(name, sorted(visible - self.events.keys()))
                raise error("UNKNOWN_ATTRIBUTE", span, owner="this PATH", name=f"?{name}", fix=fix)
        selecting = [(event, group) for event, group in parts if names.keys() & group.variables()]
        if len(selecting) != 1 or selecting[0][0] is None:
            where = "because they are of different parts of the PATH"
            raise unsupported(path.span, "selecting these variables together", where, "write one PATH for each")
        ((event, group),) = selecting
        assert event is not None
        others = [self._part(path, e, g) for e, g in parts if e != event]
        event_type = self._event_type(self.events[event], path.span)
        alias, base = f"{SOLUTIONS}{number}", s.Name(event, span=path.span)
        streams = self._streams(event_type, path.span)
        if streams == [event_type]:
            reader = self._reader(
                event, self._vocabulary(event_type), lambda name: s.Member(base, name, span=path.span)
            )
            found = self._solved(path, reader, group, names, event_type)
            selected = Selected.of(alias, found, all_of(others), self.library)
            if found.table is not None:
                self._note(RELATE, found.table.pattern, found.table.name)
            return selected
        ways = []
        for i, stream in enumerate(streams):
            reader = self._reader(event, self._vocabulary(stream), self._value_in(base, event_type, i, stream))
            if stream.context is not None and reader.choices(group):
                ways.append((i, stream.name, self._solved(path, reader, group, names, stream)))
        mark = s.Member(base, self._virtual(event_type, marks_of(streams)), span=path.span)
        if not can_be_one(ways):
            where = f"over '{event_type.name}', whose streams express it in different ways"
            raise unsupported(path.span, "selecting a variable of this PATH", where, "ask the streams one by one")

        def key(place: int, kind: DataType, attributes: dict[str, str]) -> s.Expr:
            virtual = Virtual(f"{OF_STREAM}key{number}.{place}", kind, attributes)
            return s.Member(base, self._virtual(event_type, virtual), span=path.span)

        return Selected.of_streams(alias, ways, mark, key, all_of(others), self.library)

    def _solved(
        self, path: Path, reader: PathReader, group: q.Group, names: Mapping[str, Span], stream: EventType
    ) -> Solutions:
        self._watch(stream, group)
        try:
            return reader.solutions(group, list(names))
        except NotNativeError:
            where = "because of its triples of the event"
            fix = "let them be plain triples, with one attribute each"
            raise unsupported(path.span, "selecting a variable of this PATH", where, fix) from None

    def _selected_value(self, path: Path, name: str, span: Span) -> s.Expr:
        return self.solutions[self._same(path)].value(name, span)

    def _with_solutions(self, query: s.Query) -> s.Query:
        """The query with the tables of solutions in FROM, and their conditions in WHERE."""
        conditions = [query.where] if query.where is not None else []
        items = list(query.items)
        for path, selected in self.solutions.items():
            if selected.relation is not None:
                name, alias = selected.relation.name, selected.alias
                items.append(s.FromItem(name, alias=alias, name_span=path.span, span=path.span))
            conditions.append(placed_at(selected.condition, path.span))
        return replace(query, items=tuple(items), where=all_of(conditions))


def _prefixes(query: s.Query) -> dict[str, str]:
    found: dict[str, str] = {}
    for prefix in query.prefixes:
        if found.setdefault(prefix.name, prefix.iri) != prefix.iri:
            raise error("DUPLICATE_NAME", prefix.span, name=f"{prefix.name}:", where="the prefixes", fix="keep one")
    return found


def _mapped(streams: Sequence[EventType], iri: str, prefixes: Mapping[str, str]) -> str:
    """The terms that the contexts of streams map, as the fix of an unknown term."""
    contexts = [(stream.context, stream.attributes) for stream in streams if stream.context]
    known = sorted({c.meanings[a.name].term for c, several in contexts for a in several if a.name in c.meanings})
    words = {shortened(f"<{term}>", prefixes): term for term in known}
    listed = ", ".join(list(words)[:8])
    near = did_you_mean(shortened(f"<{iri}>", prefixes), list(words))
    return near or (f"the contexts map {listed}" if known else "the context maps no attribute")
