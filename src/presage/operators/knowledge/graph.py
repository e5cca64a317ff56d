"""The graph of all knowledge bases: answers SPARQL, closed under OWL RL on request, cached on disk.

Oxigraph parses and answers; the closure works on numbers (`closure`). The store is in memory. The knowledge in it never
changes; facts of events are added for the time of one query.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from presage.errors import error
from presage.operators.knowledge import graph_cache
from presage.operators.knowledge.closure import close
from presage.operators.knowledge.contradictions import contradictions
from presage.operators.knowledge.graph_cache import Numbered
from presage.operators.knowledge.owl_terms import OWL, RDFS, THING, TYPE, WORDS
from presage.operators.knowledge.rdf_files import parse_source
from presage.operators.knowledge.triples import Tables, distinct, expressible, objects_of, pack, subjects_of

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Fact = tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode | ox.Literal]

SUB_CLASS = ox.NamedNode(f"{RDFS}subClassOf")
SUB_PROPERTY = ox.NamedNode(f"{RDFS}subPropertyOf")
EQUIVALENT_CLASS = ox.NamedNode(f"{OWL}equivalentClass")
EQUIVALENT_PROPERTY = ox.NamedNode(f"{OWL}equivalentProperty")
SAME = ox.NamedNode(f"{OWL}sameAs")
INVERSE = ox.NamedNode(f"{OWL}inverseOf")

# Removed facts after which the store is rebuilt; the number of triples, if that is larger.
MIN_REMOVED = 200_000
_CHUNK = 1 << 19  # triples that are loaded as one text
_SHOWN = 3  # contradictions in one message
_WHERE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_EXPECTED = re.compile(r'"(?:[^"\\]|\\.)*"|\b[A-Z][A-Z_]+\b')


@dataclass(frozen=True)
class SparqlProblem:
    """Why a text is not SPARQL, and where: lines and columns from 1."""

    line: int
    column: int
    message: str


class Graph:
    """The graph of all knowledge bases. It cannot be pickled: it stays on the driver."""

    def __init__(self, numbered: Numbered, closed: bool = False) -> None:
        self._numbered = numbered
        self._is_closed = closed
        self._store = _filled(numbered)
        self._removed = 0  # facts of events removed since the store was filled
        self._adding = threading.Lock()
        self._entities = _entities(numbered)
        self._walked: dict[tuple[str, ...], frozenset[str]] = {}

    @classmethod
    def build(cls, sources: Sequence[tuple[str, bytes]], reasoning: bool, cache: Path | None = None) -> Graph:
        """The graph of the files, given by path (for messages, the format and the base IRI) and content."""
        key = graph_cache.key_of(sources, reasoning)
        numbered = graph_cache.load(cache, key) if cache is not None else None
        if numbered is None:
            numbered = _closed(sources) if reasoning else _stated(sources)
            if cache is not None:
                graph_cache.save(cache, key, numbered)
        return cls(numbered, reasoning)

    def __len__(self) -> int:
        return len(self._store)

    # -- queries ---------------------------------------------------------------------------------

    # Only for texts that Presage prints: for SERVICE, Oxigraph would access the network.

    def select(self, sparql: str, variables: Sequence[str]) -> list[tuple[Term | None, ...]]:
        """The solutions of a SELECT: the terms of these variables."""
        solutions = self._store.query(sparql)
        assert isinstance(solutions, ox.QuerySolutions), sparql
        assert {variable.value for variable in solutions.variables}.issuperset(variables), sparql
        return [tuple([solution[name] for name in variables]) for solution in solutions]

    def ask(self, sparql: str) -> bool:
        answer = self._store.query(sparql)
        assert isinstance(answer, ox.QueryBoolean), sparql
        return bool(answer)

    def select_with(self, facts: Collection[Fact], sparql: str, variable: str) -> list[Term | None]:
        """The terms of a variable in the solutions of a SELECT over the knowledge and these facts."""
        place = ox.NamedNode("urn:presage:events")
        with self._adding:
            # A store in memory never frees removed facts, and scans them.
            if self._removed > max(MIN_REMOVED, len(self._numbered.subjects)):
                self._store, self._removed = _filled(self._numbered), 0
            store = self._store
            self._removed += len(facts)
            store.extend(ox.Quad(*fact, place) for fact in facts)
            try:
                solutions = store.query(sparql, default_graph=[ox.DefaultGraph(), place])
                assert isinstance(solutions, ox.QuerySolutions), sparql
                return [solution[variable] for solution in solutions]
            finally:
                store.remove_graph(place)

    @staticmethod
    def check(sparql: str) -> SparqlProblem | None:
        """Why Oxigraph rejects the text; None if it accepts it. The query runs on an empty store."""
        try:
            ox.Store().query(sparql)
        except SyntaxError as failure:
            return _problem(failure.msg or str(failure))
        return None

    # -- entities, properties and classes ----------------------------------------------------------------------

    def entities(self) -> pa.Array:
        """The IRIs of all subjects and objects, in order."""
        return self._entities

    @cached_property
    def _entity_set(self) -> frozenset[str]:
        return frozenset(self._entities.to_pylist())

    def has_entity(self, iri: str) -> bool:
        return iri in self._entity_set

    def same(self, iri: str) -> frozenset[str]:
        """All names of the entity. Only reasoning equates names."""
        return self._walk("same", iri, (), (), (SAME,)) if self._is_closed else frozenset((iri,))

    def above(self, name: str) -> frozenset[str]:
        """The property and all its superproperties."""
        return self._walk("above", name, (SUB_PROPERTY,), (), (EQUIVALENT_PROPERTY, SAME))

    def below(self, name: str) -> frozenset[str]:
        """The property and all its subproperties."""
        return self._walk("below", name, (), (SUB_PROPERTY,), (EQUIVALENT_PROPERTY, SAME))

    def inverses(self, name: str) -> frozenset[str]:
        """The properties that are declared its inverse, in either direction."""
        return self._walk("inverses", name, (), (), (INVERSE,), far=False)

    def classes_above(self, name: str) -> frozenset[str]:
        """The class and all its superclasses."""
        return self._walk("classes above", name, (SUB_CLASS,), (), (EQUIVALENT_CLASS, SAME))

    def classes_below(self, name: str) -> frozenset[str]:
        """The class and all its subclasses."""
        return self._walk("classes below", name, (), (SUB_CLASS,), (EQUIVALENT_CLASS, SAME))

    def _walk(
        self,
        what: str,
        name: str,
        up: Sequence[ox.NamedNode],
        down: Sequence[ox.NamedNode],
        both: Sequence[ox.NamedNode],
        far: bool = True,
    ) -> frozenset[str]:
        """All names reachable by these properties, in one step if not `far`; unnamed classes are left out."""
        known = self._walked.get((what, name))
        if known is None:
            start = ox.NamedNode(name)
            seen: set[Term] = {start} if far else self._neighbours(start, up, down, both)
            pending: list[Term] = [*seen] if far else []
            while pending:
                new = self._neighbours(pending.pop(), up, down, both) - seen
                seen |= new
                pending += new
            known = frozenset(node.value for node in seen if isinstance(node, ox.NamedNode))
            self._walked[what, name] = known
        return known

    def _neighbours(
        self, node: Term, up: Sequence[ox.NamedNode], down: Sequence[ox.NamedNode], both: Sequence[ox.NamedNode]
    ) -> set[Term]:
        found: set[Term] = set()
        if isinstance(node, ox.NamedNode | ox.BlankNode):
            for name in (*up, *both):
                found.update(quad.object for quad in self._store.quads_for_pattern(node, name, None))
        for name in (*down, *both):
            found.update(quad.subject for quad in self._store.quads_for_pattern(None, name, node))
        return found


def _problem(text: str) -> SparqlProblem:
    found = _WHERE.match(text)
    if not found:
        return SparqlProblem(1, 1, text)
    reason = found[3]
    if "Prefix not found" in reason:
        reason = "the prefix is not declared"
    elif reason.startswith("expected"):
        # Oxigraph also lists every range of letters that could continue a name.
        words = list(dict.fromkeys(_EXPECTED.findall(re.sub(r"\[[^\]]*\]", "", reason))))
        reason = (
            f"expected {', '.join(words[:8])}{', …' if len(words) > 8 else ''}" if words else "this cannot follow here"
        )
    return SparqlProblem(int(found[1]), int(found[2]), reason)


# -- from files to numbers -----------------------------------------------------------------------


def _stated(sources: Sequence[tuple[str, bytes]]) -> Numbered:
    terms, rows = _number(sources)
    return Numbered(_as_array(terms), *(np.ascontiguousarray(rows[:, column]) for column in range(3)))


def _closed(sources: Sequence[tuple[str, bytes]]) -> Numbered:
    terms, rows = _number(sources)
    wide = rows.astype(np.uint64)
    tables = Tables.of(wide[:, 0], wide[:, 1], wide[:, 2])
    close(tables)
    found = contradictions(tables, terms, _SHOWN)
    if found:
        raise error("KNOWLEDGE_INCONSISTENT", told="; ".join(map(str, found)))
    spelled = _as_array(terms)
    stated = expressible(tables, *(_starts_with(spelled, start) for start in ('"', "<")))
    _add_things(stated)
    columns = [
        (subjects_of(pairs), np.full(len(pairs), name), objects_of(pairs)) for name, pairs in stated.pairs.items()
    ]
    if not columns:
        return _stated([])
    return Numbered(spelled, *(np.concatenate(column).astype(np.uint32) for column in zip(*columns, strict=True)))


def _add_things(tables: Tables) -> None:
    """Every subject is an owl:Thing. No other rule uses that, so it is added last."""
    subjects = np.unique(
        np.concatenate([subjects_of(pairs) for pairs in tables.pairs.values()] or [np.zeros(0, np.uint64)])
    )
    known = tables.pairs.get(TYPE)
    made = pack(subjects, THING)
    tables.pairs[TYPE] = distinct([made] if known is None else [known, made])


class _Numbers(dict[Term, int]):
    """The numbers of the terms of a file. Blank nodes are local to the file and get deterministic names."""

    def __init__(self, numbers: dict[str, int], file: int) -> None:
        super().__init__()
        self._numbers = numbers
        self._file = file
        self._blank: dict[str, str] = {}

    def __missing__(self, term: Term) -> int:
        number = self._numbers.setdefault(self._spelling(term), len(self._numbers))
        self[term] = number
        return number

    def _spelling(self, term: Term) -> str:
        if isinstance(term, ox.BlankNode):
            return self._blank.setdefault(term.value, f"_:k{self._file}n{len(self._blank)}")
        if isinstance(term, ox.Triple):
            return f"<<( {' '.join(self._spelling(part) for part in term)} )>>"
        return str(term)


def _number(sources: Iterable[tuple[str, bytes]]) -> tuple[list[str], npt.NDArray[np.uint32]]:
    """The terms of all files, and the triples as numbers of terms."""
    numbers = dict(WORDS)
    rows: list[int] = []
    for file, (path, data) in enumerate(sources):
        known = _Numbers(numbers, file)
        for quad in parse_source(data, path):
            rows += known[quad.subject], known[quad.predicate], known[quad.object]
    return list(numbers), np.array(rows, np.uint32).reshape(-1, 3)


def _as_array(terms: list[str]) -> pa.Array:
    return pa.array(terms, pa.large_string())


def _starts_with(spelled: pa.Array, start: str) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.starts_with(spelled, start).to_numpy(zero_copy_only=False)
    return found


# -- from numbers to a store ---------------------------------------------------------------------


def _filled(graph: Numbered) -> ox.Store:
    store = ox.Store()
    # Loading a text renames its blank nodes at random, but their names must be the same in every run. So triples with
    # blank nodes are added as objects, and all others as text, which is ten times as fast.
    unnamed = _starts_with(graph.terms, "_:") | _starts_with(graph.terms, "<<")
    apart = unnamed[graph.subjects] | unnamed[graph.objects]
    for chunk in _texts(graph, ~apart):
        store.bulk_load(chunk, ox.RdfFormat.N_TRIPLES, lenient=True)
    for chunk in _texts(graph, apart):
        store.extend(ox.parse(chunk, ox.RdfFormat.N_TRIPLES, lenient=True))
    return store


def _texts(graph: Numbered, rows: npt.NDArray[np.bool_]) -> Iterable[bytes]:
    """The N-Triples of some rows, in chunks."""
    chosen = np.flatnonzero(rows)
    for start in range(0, len(chosen), _CHUNK):
        part = chosen[start : start + _CHUNK]
        columns = [graph.terms.take(pa.array(ids[part])) for ids in (graph.subjects, graph.predicates, graph.objects)]
        lines = pc.binary_join_element_wise(
            *columns, pa.scalar(".\n", pa.large_string()), pa.scalar(" ", pa.large_string())
        )
        # The buffer of the lines is the text.
        offsets = np.frombuffer(lines.buffers()[1], np.int64)
        yield lines.buffers()[2].slice(offsets[lines.offset], offsets[lines.offset + len(lines)]).to_pybytes()


def _entities(graph: Numbered) -> pa.Array:
    used = np.zeros(len(graph.terms), np.bool_)
    used[graph.subjects] = True
    used[graph.objects] = True
    iris = graph.terms.filter(pa.array(used & _is_iri(graph.terms)))
    named = pc.utf8_slice_codeunits(iris, 1, -1)
    return named.take(pc.sort_indices(named))


def _is_iri(terms: pa.Array) -> npt.NDArray[np.bool_]:
    return _starts_with(terms, "<") & ~_starts_with(terms, "<<")
