"""The archive: every event is appended here first, numbered, and read back from here. Importing it loads no Spark."""

from presage.log.archive import Archive, Bounds, FileSet, StreamInfo
from presage.log.catalog_log import CatalogEntry
from presage.log.columns import LATE_BY, SEQ, TIME, attributes_schema
from presage.log.delivered import PART, ROW, Arrival, Cursor, Delivery, SourceState, Taken
from presage.log.files import read_files
from presage.log.ingest import Checked
from presage.log.limits import max_ahead
from presage.log.log import LoadReport, Log
from presage.log.maintenance import MaintenanceReport
from presage.log.numbered import numbered_attributes
from presage.log.offsets import Gap, SourceOffsets
from presage.log.pins import Pin
from presage.log.retention import InUse

__all__ = [
    "LATE_BY",
    "PART",
    "ROW",
    "SEQ",
    "TIME",
    "Archive",
    "Arrival",
    "Bounds",
    "CatalogEntry",
    "Checked",
    "Cursor",
    "Delivery",
    "FileSet",
    "Gap",
    "InUse",
    "LoadReport",
    "Log",
    "MaintenanceReport",
    "Pin",
    "SourceOffsets",
    "SourceState",
    "StreamInfo",
    "Taken",
    "attributes_schema",
    "max_ahead",
    "numbered_attributes",
    "read_files",
]
