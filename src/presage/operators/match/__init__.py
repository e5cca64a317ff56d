"""MATCH_RECOGNIZE: rows of a partition matched against a regular expression."""

BINDS = ("match",)
