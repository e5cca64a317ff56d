"""The warning about events that arrived before a statement was deployed, and that it does not read."""

from __future__ import annotations

from presage.errors import QueryWarning, warning
from presage.live.derived import derived_table
from presage.model.text import Span
from presage.plan.nodes import Node, Scan
from presage.storage import Archive

MISSED = "EVENTS_BEFORE_NOW"
SHOWN_STREAMS = 5


def missed_events(plan: Node, archive: Archive, position: int, name: str, span: Span) -> QueryWarning | None:
    """The events of a plan's streams that arrived up to a position; None if there are none.

    Without streams that only a RECALL reads: it searches their history.
    """
    scans = {(scan.stream, scan.made) for scan in plan.walk_awaited() if isinstance(scan, Scan)}
    counts: dict[str, int] = {}
    for stream, made in sorted(scans):
        table = derived_table(stream) if made else stream
        if archive.holds(table):
            # Rows of a derived stream get their number when they are made, after the events that cause them.
            files = archive.snapshot(table, None if made else position)
            counts[stream] = counts.get(stream, 0) + files.rows
    several = [f"{count:,} event{'' if count == 1 else 's'} of {stream}" for stream, count in counts.items() if count]
    if not several:
        return None
    more = [f"and more of {len(several) - SHOWN_STREAMS} other streams"] if len(several) > SHOWN_STREAMS else []
    return warning(MISSED, span, name=name, counts=", ".join([*several[:SHOWN_STREAMS], *more]))
