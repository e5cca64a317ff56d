"""Intervals of validity: merging, open intervals between steps, output rows."""
