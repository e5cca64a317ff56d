"""The knowledge bases of a home: their files, their graph, built once, and tables of answers.

The graph is the one of all bases. It is built when it is first asked for: most statements never do.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from presage.errors import error
from presage.model.paths import ANYWHERE, Roots
from presage.model.semantics import Knowledge
from presage.operators.knowledge.probes import PREFIX as ASKED
from presage.operators.knowledge.probes import Probe
from presage.operators.knowledge.tables import PREFIX, MarkedTables, PathTable
from presage.operators.knowledge.vocabulary import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.operators.knowledge.answers import Answers, Entities
    from presage.operators.knowledge.graph import Graph

# Graphs that are kept ready: that of now, and that of before a REFRESH which may yet fail.
MOST_GRAPHS = 2
MOST_TABLES = 256
KNOWN = "known_"


@dataclass
class Library:
    """`folder` is where files and closed graphs are kept; without one they are kept in memory. One that does not `keep`
    reads what is there, and adds nothing."""

    folder: Path | None = None
    keeps: bool = True
    tables: dict[str, PathTable | MarkedTables] = field(default_factory=dict)
    probes: dict[str, Probe] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)
    _known: OrderedDict[tuple[object, ...], Entities] = field(default_factory=OrderedDict)
    _answers: OrderedDict[tuple[object, ...], Answers] = field(default_factory=OrderedDict)
    _contents: dict[str, bytes] = field(default_factory=dict)
    _graphs: OrderedDict[tuple[object, ...], Graph] = field(default_factory=OrderedDict)
    _rows: OrderedDict[tuple[object, ...], pa.Table] = field(default_factory=OrderedDict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def take_in(self, path: str, roots: Roots = ANYWHERE) -> str:
        """Keep what a file says now; its digest."""
        from presage.operators.knowledge.rdf_files import read_source

        content = read_source(Path(path), roots)
        digest = hashlib.sha256(content).hexdigest()
        if self.folder is None or not self.keeps:
            self._contents[digest] = content
        else:
            self._write(self.folder / "files", digest, content)
        return digest

    def graph(self, bases: Iterable[Knowledge]) -> Graph:
        """What all bases say together, closed if one of them asks for that."""
        from presage.operators.knowledge.graph import Graph

        bases = list(bases)
        key = _key(bases)
        with self._lock:
            if key not in self._graphs:
                sources = [
                    (p, self.source(base.name, digest))
                    for base in bases
                    for p, digest in zip(base.paths, base.files, strict=True)
                ]
                cache = self.folder / "closed" if self.folder is not None and self.keeps else None
                if cache is not None:
                    cache.mkdir(parents=True, exist_ok=True)
                self._graphs[key] = Graph.build(sources, any(base.reasoning for base in bases), cache)
                while len(self._graphs) > MOST_GRAPHS:
                    self._graphs.popitem(last=False)
            self._graphs.move_to_end(key)
            return self._graphs[key]

    def ask(self, table: PathTable | MarkedTables | Probe) -> str:
        """Remember a question; the name under which its answers are found."""
        if isinstance(table, Probe):
            self.probes[table.name] = table
        else:
            self.tables[table.name] = table
        return table.name

    def watch(self, reading: Reading) -> str:
        """Remember an attribute that names entities; the name of the relation of those that are known."""
        said = repr((reading.meaning.kind, reading.context.text))
        name = KNOWN + hashlib.sha256(said.encode()).hexdigest()[:12]
        self.readings[name] = reading
        return name

    def known(self, name: str, bases: Iterable[Knowledge]) -> Entities:
        """Which values of a watched attribute name an entity."""
        from presage.operators.knowledge.answers import Entities

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
        from presage.operators.knowledge.answers import Answers

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
        from presage.operators.knowledge.answers import rows_of

        bases = list(bases)
        key = (name, *_key(bases))
        with self._lock:
            if key not in self._rows:
                self._rows[key] = rows_of(self.tables[name], self.graph(bases))
                while len(self._rows) > MOST_TABLES:
                    self._rows.popitem(last=False)
            self._rows.move_to_end(key)
            return self._rows[key]

    def source(self, base: str, digest: str) -> bytes:
        """What a file of a base said when it was taken in; HOME_CORRUPT if that is lost."""
        if self.folder is None or digest in self._contents:
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
        raise error(
            "HOME_CORRUPT",
            what=f"a file of the knowledge base '{base}' ({digest[:12]}…)",
            path=path.parent,
            why=why,
            fix="restore the file from a backup of the home",
        )

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


def is_answer(name: str) -> bool:
    """Whether a relation of this name holds what the knowledge bases say."""
    return name.startswith((PREFIX, ASKED))


def is_asked(name: str) -> bool:
    """Whether its rows are only known to the store."""
    return name.startswith(ASKED)


def _key(bases: Iterable[Knowledge]) -> tuple[object, ...]:
    return tuple((base.name, base.files, base.reasoning) for base in bases)
