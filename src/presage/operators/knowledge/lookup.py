"""Lookups for people: what a PATH selects, and what is known of a thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from presage.errors import did_you_mean, error
from presage.model.semantics import Knowledge
from presage.operators.knowledge.graph import Graph
from presage.operators.knowledge.graph_patterns import BLANK
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.tables import MarkedTables, PathTable

# Variables of a pattern, in order; texts and IRIs are passed over whole.
_VARIABLE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^>]*>|[?$](\w+)', re.DOTALL)
_IRI = re.compile(r"<[^<>\s]*[#/]([^<>\s#/]*)>")
# Variables that nobody wrote: steps of a property path.
_STEP = re.compile(r"b\d+$")


@dataclass(frozen=True)
class Selected:
    """The solutions of a PATH without the event: what `attributes` of an event must name so that it holds, by variable,
    and all that the pattern meets on its way. `rows` are the first of `total`."""

    path: str
    attributes: dict[str, str]
    variables: list[str]
    rows: list[list[str | None]]
    total: int


@dataclass(frozen=True)
class About:
    """What is known of a thing: (property, value, whether the value is a thing, too), and who speaks of it."""

    iri: str
    facts: list[tuple[str, str, bool]]
    named_by: list[tuple[str, str]]


class Browser:
    """Over all knowledge bases of a home together."""

    def __init__(self, library: Library, bases: Iterable[Knowledge]) -> None:
        self._library = library
        self._bases = tuple(bases)

    @property
    def graph(self) -> Graph:
        return self._library.graph(self._bases)

    def worded(self, relation: str) -> str | None:
        """A question that was put to the knowledge bases, in short; None for other relations."""
        parts = self._parts(relation)
        return " or ".join(dict.fromkeys(_worded(part) for part in parts)) or None

    def selected(self, relations: Iterable[str], most: int) -> list[Selected]:
        """What the PATHs behind these relations select."""
        tables = {part.name: part for name in sorted(relations) for part in self._parts(name)}
        return [self._selected(part, most) for part in tables.values()]

    def about(self, iri: str, most: int) -> About:
        graph = self.graph
        if not graph.has_entity(iri):
            fix = did_you_mean(iri, self.find(iri.rpartition("#")[2], 20))
            raise error("UNKNOWN_OBJECT", kind="thing of the knowledge bases", name=iri, fix=fix)
        # It is one of the graph's own, so nothing else can stand in the brackets.
        facts = graph.select(f"SELECT ?p ?o WHERE {{ <{iri}> ?p ?o }} ORDER BY ?p ?o LIMIT {most}", ("p", "o"))
        users = graph.select(f"SELECT ?s ?p WHERE {{ ?s ?p <{iri}> }} ORDER BY ?p ?s LIMIT {most}", ("s", "p"))
        told = [(_text(p) or "", _text(o) or "", graph.has_entity(_text(o) or "")) for p, o in facts]
        return About(iri, told, [(_text(s) or "", _text(p) or "") for s, p in users])

    def find(self, text: str, most: int) -> list[str]:
        """Things whose names hold a text: those that begin with it first, shorter ones before longer."""
        wanted = text.lower()
        found = [iri for iri in self.graph.entities().to_pylist() if wanted in _name(iri).lower()]
        return sorted(found, key=lambda iri: (not _name(iri).lower().startswith(wanted), len(iri), iri))[:most]

    def _parts(self, relation: str) -> list[PathTable]:
        table = self._library.tables.get(relation)
        if isinstance(table, MarkedTables):
            return [part for _, part in table.parts]
        return [] if table is None else [table]

    def _selected(self, table: PathTable, most: int) -> Selected:
        variables = list(dict.fromkeys(v for v in _VARIABLE.findall(table.pattern) if v))
        keys = {key.variable: key.reading.attribute for key in table.keys}
        # What events name comes first, then what was written, then the steps between.
        variables.sort(key=lambda v: (v not in keys, bool(_STEP.match(v))))
        if not variables:
            return Selected(_worded(table), keys, [], [], int(self.graph.ask(table.sparql)))
        chosen = " ".join(f"?{name}" for name in variables)
        solutions = self.graph.select(f"SELECT DISTINCT {chosen} WHERE {{ {table.pattern} }}", variables)
        rows = sorted(([_text(term) for term in row] for row in solutions), key=lambda row: [str(each) for each in row])
        return Selected(_worded(table), keys, variables, rows[:most], len(rows))


def _worded(table: PathTable) -> str:
    """A pattern with names for IRIs, to be read and not to be asked. What an event names is called as its attribute."""
    named = {key.variable: key.reading.attribute for key in table.keys if key.variable.startswith(BLANK)}
    pattern = _VARIABLE.sub(lambda v: f"?{named[v[1]]}" if v[1] in named else v[0], table.pattern)
    return f"PATH {{ {_IRI.sub(lambda found: found[1], pattern).strip().removesuffix('.').strip()} }}"


def _text(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _name(iri: str) -> str:
    return re.split(r"[#/]", iri)[-1]
