"""The archive: every event is appended here, numbered, and read back from here. Importing it loads no Spark."""

from presage.storage.archive import Archive, Bounds, FileSet, StreamInfo
from presage.storage.catalog_log import CatalogEntry
from presage.storage.columns import LATE_BY, SEQ, TIME, attributes_schema
from presage.storage.delivery import PART, ROW, Arrival, Cursor, Delivery, SourceState, Taken
from presage.storage.files import read_files
from presage.storage.ingest import Checked
from presage.storage.leases import Lease
from presage.storage.limits import max_ahead
from presage.storage.log import LoadReport, Log
from presage.storage.maintenance import MaintenanceReport
from presage.storage.offset_dedup import attributes_with_offsets
from presage.storage.offsets import Gap, SourceOffsets
from presage.storage.retention import InUse
from presage.storage.standby import Leader, Standby, leader

__all__ = ["LATE_BY", "PART", "ROW", "SEQ", "TIME", "Archive", "Arrival", "Bounds", "CatalogEntry", "Checked", "Cursor"]
__all__ += ["Delivery", "FileSet", "Gap", "InUse", "Leader", "Lease", "LoadReport", "Log", "MaintenanceReport"]
__all__ += ["SourceOffsets", "SourceState", "Standby", "StreamInfo", "Taken", "attributes_schema"]
__all__ += ["attributes_with_offsets", "leader", "max_ahead", "read_files"]
