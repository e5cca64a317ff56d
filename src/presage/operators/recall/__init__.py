"""RECALL: every event meets the history before it."""

BINDS = ("recalled",)
