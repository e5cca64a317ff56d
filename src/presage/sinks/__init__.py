"""Declared sinks, which deliver rows of deployed statements while an engine is open. Importing it loads no Spark."""

from presage.sinks.sink import SinkStatus
from presage.sinks.sinks import Sinks

__all__ = ["SinkStatus", "Sinks"]
