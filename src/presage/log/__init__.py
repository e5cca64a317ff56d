"""The archive: every event is appended here first, numbered, and read back from here. Importing it loads no Spark."""

from presage.log.archive import Archive, Bounds, FileSet, StreamInfo
from presage.log.catalog_log import CatalogEntry
from presage.log.columns import LATE_BY, SEQ, TIME
from presage.log.files import read_files
from presage.log.ingest import Checked
from presage.log.log import LoadReport, Log

__all__ = [
    "LATE_BY",
    "SEQ",
    "TIME",
    "Archive",
    "Bounds",
    "CatalogEntry",
    "Checked",
    "FileSet",
    "LoadReport",
    "Log",
    "StreamInfo",
    "read_files",
]
