"""Execution on Spark: the session, types, expressions, and batch jobs."""
