"""Deployed statements: they read the log batch by batch, and publish state, rows and position in one record."""
