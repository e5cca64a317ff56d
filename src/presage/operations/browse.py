"""What people browse in a home: the newest events of its streams, and its knowledge bases."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from presage.lang import syntax as s
from presage.live.program import relations_of
from presage.operators.knowledge.lookup import Browser, Selected
from presage.storage import Log
from presage.storage.event_reader import newest_events, read_events
from presage.workspace import Workspace


@dataclass(frozen=True)
class Browse:
    """What `Engine.browse` gives."""

    _log: Log
    _workspace: Workspace

    @property
    def knowledge(self) -> Browser:
        """What the knowledge bases say."""
        return Browser(self._workspace.library, self._workspace.catalog.knowledge.values())

    def selects(self, query: s.Query, limit: int = 200) -> list[Selected]:
        """Which things the PATHs of a query select, whatever events come. Nothing of it is carried out."""
        bound = self._workspace.bind(query)
        return self.knowledge.selected(relations_of(self._workspace.optimize(bound).plan), limit)

    def event(self, number: int) -> tuple[str, pa.Table] | None:
        """The event with a number of arrival, and its stream; None if no stream has it, or has it any more."""
        for found in self._workspace.catalog.types.values():
            if found.kind == "stream" and found.inference is None and self._log.archive.holds(found.name):
                files = self._log.archive.snapshot(found.name, number, after_seq=number - 1)
                table = read_events(files, [a.name for a in found.attributes])
                if table.num_rows:
                    return found.name, table
        return None

    def newest(self, stream: str, limit: int = 1_000) -> pa.Table:
        """The events of a stream that came last, that one first; with the number of their arrival."""
        found = self._workspace.loadable(stream)
        return newest_events(self._log, found.name, [a.name for a in found.attributes], limit)
