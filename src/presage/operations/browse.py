"""Browsing of a home: the newest events of its streams, and its knowledge bases.

Knowledge bases are browsed by themselves, without a query, so their capability is named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.lang import syntax as s
from presage.live.program import relations_of
from presage.storage import Log
from presage.storage.event_reader import newest_events, read_events
from presage.workspace import Workspace

if TYPE_CHECKING:
    from presage.operators.knowledge.lookup import Browser, Selected


@dataclass(frozen=True)
class Browse:
    """The value of `Engine.browse`."""

    _log: Log
    _workspace: Workspace

    @property
    def knowledge(self) -> Browser:
        # Imported here: few engines have a knowledge base.
        from presage.operators.knowledge.lookup import Browser

        return Browser(self._workspace.library, self._workspace.catalog.knowledge.values())

    def selects(self, query: s.Query, limit: int = 200) -> list[Selected]:
        """The entities that the PATHs of a query select, for any event. Does not run the query."""
        bound = self._workspace.bind(query)
        return self.knowledge.selected(relations_of(self._workspace.optimize(bound).plan), limit)

    def event(self, number: int) -> tuple[str, pa.Table] | None:
        """The event with a sequence number, and its stream; None if it does not exist (any more)."""
        for stream in self._workspace.catalog.types.values():
            if stream.kind == "stream" and stream.inference is None and self._log.archive.holds(stream.name):
                files = self._log.archive.snapshot(stream.name, number, after_seq=number - 1)
                table = read_events(files, [a.name for a in stream.attributes])
                if table.num_rows:
                    return stream.name, table
        return None

    def newest(self, stream: str, limit: int = 1_000) -> pa.Table:
        """The newest events of a stream, the newest first, with their sequence numbers."""
        event_type = self._workspace.loadable(stream)
        return newest_events(self._log, event_type.name, [a.name for a in event_type.attributes], limit)
