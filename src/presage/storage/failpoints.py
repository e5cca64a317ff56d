"""The named moments of a commit: a name comes in, and nothing happens, unless a test makes the program die there."""

from __future__ import annotations

STATES_WRITTEN = "states-written"  # new states of statements lie in their folder; no record names them
STAGED_ONE = "staged-one"  # a data file lies in its table's folder; no record names it
STAGED = "staged"  # all data files do
RECORD_WRITTEN = "record-written"  # the record is on disk under its temporary name
COMMITTED = "committed"  # the record has its name: from here on the append has happened
TABLE_COMMITTED = "table-committed"  # one more table, stream or catalog entry is up to date
APPLIED = "applied"  # all of them are; the record is not marked
MARKED = "marked"  # the record is marked
HEAD_WRITTEN = "head-written"  # the new head replaces the records, which are still there

POINTS = (STAGED_ONE, STAGED, RECORD_WRITTEN, COMMITTED, TABLE_COMMITTED, APPLIED, MARKED, HEAD_WRITTEN)

# Maintenance passes those of a commit too, and these.
REWRITTEN_ONE = "rewritten-one"  # a file of a compaction lies in its table's folder; no record names it
REWRITTEN = "rewritten"  # all of them do; whether their inputs are still there is not checked
VACUUMED_ONE = "vacuumed-one"  # a data file that had left its table is deleted
CLEANED_ONE = "cleaned-one"  # an entry of a Delta log before its checkpoint is deleted

MAINTENANCE_POINTS = (REWRITTEN_ONE, REWRITTEN, VACUUMED_ONE, CLEANED_ONE)

# A sink's way with one batch, outside of any commit.
SINK_PREPARED = "sink-prepared"  # nobody sees it: a file under its hidden name
SINK_NOTED = "sink-noted"  # the home says that it is about to go
SINK_DELIVERED = "sink-delivered"  # it has gone, and the home does not say so

SINK_POINTS = (SINK_PREPARED, SINK_NOTED, SINK_DELIVERED)


class Failpoints:
    """Where the committer says how far it is. In production nobody listens."""

    def reach(self, point: str) -> None:
        """Called at each point, as often as it is passed."""
