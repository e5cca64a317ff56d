"""Sinks that take the rows of standing statements away, while an engine is open. Importing it loads no Spark."""

from presage.sinks.sinks import Sinks
from presage.sinks.status import SinkStatus

__all__ = ["SinkStatus", "Sinks"]
