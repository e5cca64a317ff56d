"""Sources that fill streams by themselves, while an engine is open. Importing it loads no Spark."""

from presage.sources.sources import Sources
from presage.sources.status import SourceStatus

__all__ = ["SourceStatus", "Sources"]
