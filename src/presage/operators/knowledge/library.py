"""The knowledge bases of a home: their files, their graph and tables of answers.

All bases form one graph. It is built at the first use: most statements never need it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from presage.errors import error
from presage.model.paths import ANYWHERE, Roots
from presage.model.semantics import Knowledge
from presage.operators.knowledge.probes import Probe
from presage.operators.knowledge.tables import MarkedTables, PathTable, relation_name
from presage.plan.answer_relations import COMPUTED

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.operators.knowledge.answers import Answers, Entities
    from presage.operators.knowledge.graph import Graph
    from presage.operators.knowledge.vocabulary import Reading
    from presage.storage.store import Store

# Graphs in memory: the current one, and the one before a REFRESH that may still fail.
MOST_GRAPHS = 2
MOST_TABLES = 256
KNOWN = "known_"
T = TypeVar("T")
Cache: TypeAlias = OrderedDict[tuple[object, ...], T]


@dataclass
class Library:
    """`folder` holds files and closed graphs; without one they are in memory. If not `keeps`, it is read-only."""

    store: Store | None = None
    folder: PurePath = field(default_factory=PurePath)
    keeps: bool = True
    tables: dict[str, PathTable | MarkedTables] = field(default_factory=dict)
    probes: dict[str, Probe] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    _known: Cache[Entities] = field(default_factory=OrderedDict)
    _answers: Cache[Answers] = field(default_factory=OrderedDict)
    _contents: dict[str, bytes] = field(default_factory=dict)
    _graphs: Cache[Graph] = field(default_factory=OrderedDict)
    _rows: Cache[pa.Table] = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def take_in(self, path: str, roots: Roots = ANYWHERE) -> str:
        """Store the content of a file; returns its digest."""
        from presage.operators.knowledge.rdf_files import read_source

        content = read_source(Path(path), roots)
        digest = hashlib.sha256(content).hexdigest()
        if self.store is None or not self.keeps:
            self._contents[digest] = content
        else:
            with suppress(FileExistsError):
                self.store.create(self.folder / "files" / digest, content)
        return digest

    def graph(self, bases: Iterable[Knowledge]) -> Graph:
        """The graph of all bases, closed if one of them asks for reasoning."""
        from presage.operators.knowledge.graph import Graph

        bases = list(bases)

        def build() -> Graph:
            sources = [
                (path, self.source(base.name, digest))
                for base in bases
                for path, digest in zip(base.paths, base.files, strict=True)
            ]
            # Only a local folder: a graph is read and written as one piece, and its computation costs seconds.
            cache = (
                Path(self.folder) / "closed" if self.store is not None and self.store.is_local and self.keeps else None
            )
            if cache is not None:
                cache.mkdir(parents=True, exist_ok=True)
            return Graph.build(sources, any(base.reasoning for base in bases), cache)

        return self._cached(self._graphs, _key(bases), build, MOST_GRAPHS)

    def _cached(self, cache: Cache[T], key: tuple[object, ...], make: Callable[[], T], most: int = MOST_TABLES) -> T:
        """The value of an LRU cache, made if it is missing."""
        with self._lock:
            if key not in cache:
                cache[key] = make()
                while len(cache) > most:
                    cache.popitem(last=False)
            cache.move_to_end(key)
            return cache[key]

    def ask(self, table: PathTable | MarkedTables | Probe) -> str:
        """Register a question; returns the name of the relation of its answers."""
        if isinstance(table, Probe):
            self.probes[table.name] = table
        else:
            self.tables[table.name] = table
        return table.name

    def watch(self, reading: Reading) -> str:
        """Register an attribute that names entities; returns the name of the relation of known entities."""
        name = relation_name(KNOWN, (reading.meaning.kind, reading.context.text))
        self.readings[name] = reading
        return name

    def known(self, name: str, bases: Iterable[Knowledge]) -> Entities:
        """The entities that the values of a watched attribute may name."""
        from presage.operators.knowledge.answers import Entities

        bases = tuple(bases)
        return self._cached(
            self._known,
            (name, *_key(bases)),
            lambda: Entities(self.readings[name], lambda: self.graph(bases)),
        )

    def answered(self, name: str, bases: Iterable[Knowledge]) -> Answers:
        """The answers to a question about events, computed as their keys occur."""
        from presage.operators.knowledge.answers import Answers

        bases = tuple(bases)
        return self._cached(
            self._answers,
            (name, *_key(bases)),
            lambda: Answers(self.probes[name], lambda: self.graph(bases)),
        )

    def rows(self, name: str, bases: Iterable[Knowledge]) -> pa.Table:
        """The table of answers to a registered question."""
        from presage.operators.knowledge.answers import rows_of

        bases = tuple(bases)
        return self._cached(self._rows, (name, *_key(bases)), lambda: rows_of(self.tables[name], self.graph(bases)))

    def relations(self, declared: Mapping[str, pa.Table], bases: Iterable[Knowledge]) -> Mapping[str, pa.Table]:
        """Relations by name: declared ones, and the answers to registered questions."""
        return Relations(declared, self, bases)

    def source(self, base: str, digest: str) -> bytes:
        """The stored content of a file of a base; HOME_CORRUPT if it is lost."""
        if self.store is None or digest in self._contents:
            return self._contents[digest]
        path = self.folder / "files" / digest
        try:
            content = self.store.read(path)
        except OSError as failure:
            from presage.storage.store import StoreError

            if isinstance(failure, StoreError):
                raise  # the store does not answer
            why = str(failure)
        else:
            if hashlib.sha256(content).hexdigest() == digest:
                return content
            why = "its content has changed"
        raise error(
            "HOME_CORRUPT",
            what=f"a file of the knowledge base '{base}' ({digest[:12]}…)",
            path=path.parent,
            why=why,
            fix="restore the file from a backup of the home",
        )


def _key(bases: Iterable[Knowledge]) -> tuple[object, ...]:
    return tuple((base.name, base.files, base.reasoning) for base in bases)


class Relations(Mapping[str, "pa.Table"]):
    """Relations by name: declared ones, and the answers to PATHs."""

    def __init__(self, relations: Mapping[str, pa.Table], library: Library, bases: Iterable[Knowledge]) -> None:
        self._relations = relations
        self._library = library
        self._bases = tuple(bases)

    def __getitem__(self, name: str) -> pa.Table:
        if name.startswith(COMPUTED) and name in self._library.tables:
            return self._library.rows(name, self._bases)
        if name in self._library.probes:
            return self._library.answered(name, self._bases)  # computed as keys occur, see `Answers`
        if name in self._library.readings:
            return self._library.known(name, self._bases)
        return self._relations[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._relations, *self._library.tables, *self._library.probes])

    def __len__(self) -> int:
        return len(self._relations) + len(self._library.tables) + len(self._library.probes)
