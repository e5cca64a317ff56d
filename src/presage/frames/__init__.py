"""MATCH_RECOGNIZE for any Spark DataFrame: a clause and a DataFrame in, a DataFrame out; no engine, no archive."""

from presage.frames.recognize import match_recognize

__all__ = ["match_recognize"]
