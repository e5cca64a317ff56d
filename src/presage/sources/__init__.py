"""Declared sources, which fill streams while an engine is open. Importing it loads no Spark."""

from presage.sources.source import SourceStatus
from presage.sources.sources import CHECKPOINTS, Sources

__all__ = ["CHECKPOINTS", "SourceStatus", "Sources"]
