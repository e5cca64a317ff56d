"""Crash points: the named moments of a commit at which tests let the process die."""

from __future__ import annotations

STATES_WRITTEN = "states-written"  # new states of statements are written; no record names them
STAGED_ONE = "staged-one"  # a data file is written; no record names it
STAGED = "staged"  # all data files are written
RECORD_WRITTEN = "record-written"  # the record is about to get its name
COMMITTED = "committed"  # the record has its name: the append is committed
TABLE_COMMITTED = "table-committed"  # one more table, stream or catalog entry is up to date
APPLIED = "applied"  # all of them are
HEAD_WRITTEN = "head-written"  # the new head is written; the records it replaces still exist

POINTS = (STAGED_ONE, STAGED, RECORD_WRITTEN, COMMITTED, TABLE_COMMITTED, APPLIED, HEAD_WRITTEN)

# Maintenance passes those of a commit, and these.
REWRITTEN_ONE = "rewritten-one"  # a file of a compaction is written; no record names it
REWRITTEN = "rewritten"  # all of them are; that their inputs are still live is not checked yet
VACUUMED_ONE = "vacuumed-one"  # a data file that is no longer live is deleted
CLEANED_ONE = "cleaned-one"  # an entry of a Delta log before its checkpoint is deleted

MAINTENANCE_POINTS = (REWRITTEN_ONE, REWRITTEN, VACUUMED_ONE, CLEANED_ONE)

# The delivery of one batch by a sink, outside of any commit.
SINK_PREPARED = "sink-prepared"  # prepared, invisible to readers: a file under its hidden name
SINK_NOTED = "sink-noted"  # the sink's position says that the batch is about to be delivered
SINK_DELIVERED = "sink-delivered"  # delivered; the sink's position does not say so yet

SINK_POINTS = (SINK_PREPARED, SINK_NOTED, SINK_DELIVERED)


class Failpoints:
    """Does nothing in production; tests override `reach`."""

    def reach(self, point: str) -> None:
        """Called each time a crash point is passed."""
