"""Columns of MEASURES: places and aggregates over the rows of matches."""
