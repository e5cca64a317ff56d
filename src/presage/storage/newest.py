"""A stream in, the events of it that came last out, without reading those before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.storage.columns import SEQ
from presage.storage.event_reader import read_events

if TYPE_CHECKING:
    from presage.storage.log import Log

# Positions of the log that are read first; then this many times as many, until enough events are found.
FIRST_READ, MORE = 4_096, 16


def newest_events(log: Log, stream: str, attributes: Sequence[str], limit: int) -> pa.Table:
    """SEQ, TIME and the attributes, the event that came last first."""
    position, reach = log.position, FIRST_READ
    while True:
        table = read_events(log.archive.snapshot(stream, position, after_seq=position - reach), attributes)
        if table.num_rows >= limit or reach >= position:
            return table.sort_by([(SEQ, "descending")]).slice(0, limit)
        reach *= MORE
