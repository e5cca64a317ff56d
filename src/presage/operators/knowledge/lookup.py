"""Lookups in the knowledge bases for users: the solutions of a PATH, and the facts of an entity."""

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
from presage.operators.knowledge.tables import VARIABLE, MarkedTables, PathTable

_IRI = re.compile(r"<[^<>\s]*[#/]([^<>\s#/]*)>")
# Generated variables: steps of a property path.
_STEP = re.compile(r"b\d+$")


@dataclass(frozen=True)
class Selected:
    """The solutions of a PATH without the event: the values of all variables. `attributes` are those of the event, by
    variable; `rows` are the first of `total`."""

    path: str
    attributes: dict[str, str]
    variables: list[str]
    rows: list[list[str | None]]
    total: int


@dataclass(frozen=True)
class About:
    """The facts of an entity: (property, value, whether the value is an entity), and the subjects that refer to it."""

    iri: str
    facts: list[tuple[str, str, bool]]
    named_by: list[tuple[str, str]]


class Browser:
    """Lookups in all knowledge bases of a home."""

    def __init__(self, library: Library, bases: Iterable[Knowledge]) -> None:
        self._library = library
        self._bases = tuple(bases)

    @property
    def graph(self) -> Graph:
        return self._library.graph(self._bases)

    def worded(self, relation: str) -> str | None:
        """The question of a relation in short; None if the relation is no answer of the knowledge bases."""
        parts = self._parts(relation)
        return " or ".join(dict.fromkeys(_shown(part) for part in parts)) or None

    def selected(self, relations: Iterable[str], most: int) -> list[Selected]:
        """The solutions of the PATHs of these relations."""
        tables = {part.name: part for name in sorted(relations) for part in self._parts(name)}
        return [self._selected(part, most) for part in tables.values()]

    def about(self, iri: str, most: int) -> About:
        graph = self.graph
        if not graph.has_entity(iri):
            fix = did_you_mean(iri, self.find(iri.rpartition("#")[2], 20))
            raise error("UNKNOWN_OBJECT", kind="thing of the knowledge bases", name=iri, fix=fix)
        # The graph has this IRI, so it is safe in the brackets.
        facts = graph.select(f"SELECT ?p ?o WHERE {{ <{iri}> ?p ?o }} ORDER BY ?p ?o LIMIT {most}", ("p", "o"))
        users = graph.select(f"SELECT ?s ?p WHERE {{ ?s ?p <{iri}> }} ORDER BY ?p ?s LIMIT {most}", ("s", "p"))
        known = [(_text(p) or "", _text(o) or "", graph.has_entity(_text(o) or "")) for p, o in facts]
        return About(iri, known, [(_text(s) or "", _text(p) or "") for s, p in users])

    def find(self, text: str, most: int) -> list[str]:
        """Entities whose names contain a text: those that begin with it first, shorter ones before longer."""
        wanted = text.lower()
        found = [iri for iri in self.graph.entities().to_pylist() if wanted in _name(iri).lower()]
        return sorted(found, key=lambda iri: (not _name(iri).lower().startswith(wanted), len(iri), iri))[:most]

    def _parts(self, relation: str) -> list[PathTable]:
        table = self._library.tables.get(relation)
        if isinstance(table, MarkedTables):
            return [part for _, part in table.parts]
        return [] if table is None else [table]

    def _selected(self, table: PathTable, most: int) -> Selected:
        variables = list(dict.fromkeys(v for v in VARIABLE.findall(table.pattern) if v))
        keys = {key.variable: key.reading.attribute for key in table.keys}
        # Variables that events name first, then other variables of the user, then generated ones.
        variables.sort(key=lambda v: (v not in keys, bool(_STEP.match(v))))
        if not variables:
            return Selected(_shown(table), keys, [], [], int(self.graph.ask(table.sparql)))
        chosen = " ".join(f"?{name}" for name in variables)
        solutions = self.graph.select(f"SELECT DISTINCT {chosen} WHERE {{ {table.pattern} }}", variables)
        rows = sorted(([_text(term) for term in row] for row in solutions), key=lambda row: [str(each) for each in row])
        return Selected(_shown(table), keys, variables, rows[:most], len(rows))


def _shown(table: PathTable) -> str:
    """A pattern with short names for IRIs, to be shown. Variables of the event have the names of its attributes."""
    named = {key.variable: key.reading.attribute for key in table.keys if key.variable.startswith(BLANK)}
    pattern = VARIABLE.sub(lambda v: f"?{named[v[1]]}" if v[1] in named else v[0], table.pattern)
    return f"PATH {{ {_IRI.sub(lambda found: found[1], pattern).strip().removesuffix('.').strip()} }}"


def _text(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _name(iri: str) -> str:
    return re.split(r"[#/]", iri)[-1]
