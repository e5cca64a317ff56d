"""MATCH_RECOGNIZE for any Spark DataFrame, without an engine or an archive."""

from presage.frames.recognize import match_recognize

__all__ = ["match_recognize"]
