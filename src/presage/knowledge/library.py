"""Knowledge bases in, what they say together out: their files kept, their graph built once, tables of answers.

The graph is the one of all bases. It is built when it is first asked for: most statements never do.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.errors import error
from presage.knowledge.contexts import entity_of
from presage.knowledge.probes import PREFIX as ASKED
from presage.knowledge.probes import Key, Probe
from presage.knowledge.tables import PREFIX, PathTable
from presage.knowledge.vocabulary import Reading
from presage.model.semantics import Knowledge

if TYPE_CHECKING:
    from presage.knowledge.graph import Graph

# Graphs that are kept ready: that of now, and that of before a REFRESH which may yet fail.
MOST_GRAPHS = 2
MOST_TABLES = 256
KNOWN = "known_"
# Keys of one question whose answers are remembered.
MOST_KEYS = 200_000


@dataclass
class Library:
    """`folder` is where files and closed graphs are kept; without one they are kept in memory."""

    folder: Path | None = None
    tables: dict[str, PathTable] = field(default_factory=dict)
    probes: dict[str, Probe] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    _known: OrderedDict[tuple[object, ...], Entities] = field(default_factory=OrderedDict)
    _answers: OrderedDict[tuple[object, ...], Answers] = field(default_factory=OrderedDict)
    _contents: dict[str, bytes] = field(default_factory=dict)
    _graphs: OrderedDict[tuple[object, ...], Graph] = field(default_factory=OrderedDict)
    _rows: OrderedDict[tuple[object, ...], pa.Table] = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def take_in(self, path: str) -> str:
        """Keep what a file says now; its digest."""
        from presage.knowledge.rdf_files import read_source

        content = read_source(Path(path))
        digest = hashlib.sha256(content).hexdigest()
        if self.folder is None:
            self._contents[digest] = content
        else:
            self._write(self.folder / "files", digest, content)
        return digest

    def graph(self, bases: Iterable[Knowledge]) -> Graph:
        """What all bases say together, closed if one of them asks for that."""
        from presage.knowledge.graph import Graph

        bases = list(bases)
        key = _key(bases)
        with self._lock:
            if key not in self._graphs:
                sources = [(p, self._read(base.name, digest)) for base in bases
                           for p, digest in zip(base.paths, base.files, strict=True)]  # fmt: skip
                cache = self.folder / "closed" if self.folder is not None else None
                if cache is not None:
                    cache.mkdir(parents=True, exist_ok=True)
                self._graphs[key] = Graph.build(sources, any(base.reasoning for base in bases), cache)
                while len(self._graphs) > MOST_GRAPHS:
                    self._graphs.popitem(last=False)
            self._graphs.move_to_end(key)
            return self._graphs[key]

    def ask(self, table: PathTable | Probe) -> str:
        """Remember a question; the name under which its answers are found."""
        if isinstance(table, PathTable):
            self.tables[table.name] = table
        else:
            self.probes[table.name] = table
        return table.name

    def watch(self, reading: Reading) -> str:
        """Remember an attribute that names entities; the name of the relation of those that are known."""
        said = repr((reading.meaning.kind, reading.context.text))
        name = KNOWN + hashlib.sha256(said.encode()).hexdigest()[:12]
        self.readings[name] = reading
        return name

    def known(self, name: str, bases: Iterable[Knowledge]) -> Entities:
        bases = tuple(bases)
        key = (name, *_key(bases))
        with self._lock:
            if key not in self._known:
                self._known[key] = Entities(self.readings[name], lambda: self.graph(bases))
                while len(self._known) > MOST_TABLES:
                    self._known.popitem(last=False)
            return self._known[key]

    def answered(self, name: str, bases: Iterable[Knowledge]) -> Answers:
        """The answers to a question that is put to events, as far as they were met."""
        bases = tuple(bases)
        key = (name, *_key(bases))
        with self._lock:
            if key not in self._answers:
                self._answers[key] = Answers(self.probes[name], lambda: self.graph(bases))
                while len(self._answers) > MOST_TABLES:
                    self._answers.popitem(last=False)
            self._answers.move_to_end(key)
            return self._answers[key]

    def rows(self, name: str, bases: Iterable[Knowledge]) -> pa.Table:
        """The answers to a question that was asked before."""
        bases = list(bases)
        key = (name, *_key(bases))
        with self._lock:
            if key not in self._rows:
                self._rows[key] = self.tables[name].rows(self.graph(bases))
                while len(self._rows) > MOST_TABLES:
                    self._rows.popitem(last=False)
            self._rows.move_to_end(key)
            return self._rows[key]

    def _read(self, base: str, digest: str) -> bytes:
        if self.folder is None:
            return self._contents[digest]
        path = self.folder / "files" / digest
        try:
            content = path.read_bytes()
        except OSError as failure:
            why = str(failure)
        else:
            if hashlib.sha256(content).hexdigest() == digest:
                return content
            why = "it is not what was kept"
        raise error("HOME_CORRUPT", what=f"a file of the knowledge base '{base}' ({digest[:12]}…)", path=path.parent,
                    why=why, fix="restore the file from a backup of the home")  # fmt: skip

    def _write(self, folder: Path, digest: str, content: bytes) -> None:
        path = folder / digest
        if path.exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{digest}.{os.getpid()}.part"
        with part.open("wb") as sink:
            sink.write(content)
            sink.flush()
            os.fsync(sink.fileno())
        part.replace(path)


class Entities:
    """Which values of an attribute name an entity that is known."""

    def __init__(self, reading: Reading, graph: Callable[[], Graph]) -> None:
        self._reading = reading
        self._graph = graph
        self._named: dict[str, bool] = {}

    def unknown(self, values: pa.ChunkedArray) -> int:
        """How many of them name none; NULL names nothing and is not counted."""
        counts = values.value_counts()
        names, numbers = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
        if len(self._named) > MOST_KEYS:
            self._named.clear()
        return sum(n for name, n in zip(names, numbers, strict=True) if name is not None and not self._is_known(name))

    def _is_known(self, name: str) -> bool:
        if name not in self._named:
            iri = entity_of(self._reading.context, self._reading.meaning, name)
            self._named[name] = iri is not None and self._graph().has_entity(iri)
        return self._named[name]


class Answers:
    """What a probe says of events, by their key. Those that were not met before are asked together, and remembered
    as long as there is room."""

    def __init__(self, probe: Probe, graph: Callable[[], Graph]) -> None:
        self._probe = probe
        self._graph = graph
        self._known: OrderedDict[Key, bool] = OrderedDict()
        self._lock = threading.Lock()

    def holds(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """For every row of these columns."""
        rows, places = _distinct(columns)
        with self._lock:
            new = [row for row in rows if row not in self._known]
            answers = dict(zip(new, self._probe.hold(self._graph(), new), strict=True)) if new else {}
            found = [answers[row] if row in answers else self._known[row] for row in rows]
            for row, answer in zip(rows, found, strict=True):
                self._known[row] = answer
                self._known.move_to_end(row)
            while len(self._known) > MOST_KEYS:
                self._known.popitem(last=False)
        return np.array(found, np.bool_)[places]

    def among(self, keys: pa.Table) -> pa.Table:
        """Those of the rows for which it holds, as a relation."""
        columns = [keys.column(i).combine_chunks() for i in range(keys.num_columns)]
        return keys.filter(pa.array(self.holds(columns), pa.bool_())).rename_columns(
            [n for n, _ in self._probe.columns]
        )


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[tuple[Any, ...]], npt.NDArray[np.int64]]:
    """The distinct rows, and the place of each row among them."""
    codes = np.zeros(len(columns[0]) if columns else 1, np.int64)
    # By their bits, numbers are what they are: NaN is NaN, and -0.0 is not 0.0.
    columns = [c.view(pa.int64()) if pa.types.is_floating(c.type) else c for c in columns]
    for column in columns:
        encoded = column.dictionary_encode()
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, codes = np.unique(codes * (len(encoded.dictionary) + 1) + own, return_inverse=True)
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    chosen = [column.take(pa.array(first)).to_pylist() for column in columns]
    return list(zip(*chosen, strict=True)) if columns else [()], places


class Tables(Mapping[str, pa.Table]):
    """Relations by name: declared ones, and the answers to the questions that PATHs ask."""

    def __init__(self, relations: Mapping[str, pa.Table], library: Library, bases: Iterable[Knowledge]) -> None:
        self._relations = relations
        self._library = library
        self._bases = tuple(bases)

    def __getitem__(self, name: str) -> pa.Table:
        if name.startswith(PREFIX) and name in self._library.tables:
            return self._library.rows(name, self._bases)
        if name in self._library.probes:
            return self._library.answered(name, self._bases)  # asked as rows are met, see `Answers`
        if name in self._library.readings:
            return self._library.known(name, self._bases)
        return self._relations[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._relations, *self._library.tables, *self._library.probes])

    def __len__(self) -> int:
        return len(self._relations) + len(self._library.tables) + len(self._library.probes)


def is_known(name: str) -> bool:
    """Whether a relation of this name is an answer of the knowledge bases."""
    return name.startswith((PREFIX, ASKED))


def is_asked(name: str) -> bool:
    """Whether its rows are only known to the store."""
    return name.startswith(ASKED)


def _key(bases: Iterable[Knowledge]) -> tuple[object, ...]:
    return tuple((base.name, base.files, base.reasoning) for base in bases)
