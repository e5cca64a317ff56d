"""A home without Spark whose statements recall: history is read in this process, in small chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from presage.execution.spark.batch import BatchContext
from presage.operators.recall.executor import Archive
from presage.operators.recall.nodes import Recall
from presage.operators.recall.spark_history import history_of
from presage.plan.nodes import Scan
from recovery.crashing import MemoryDisk
from recovery.living import Living


def recalling_home(folder: Path, disk: MemoryDisk | None = None, *more: Any, **job: Any) -> Living:
    """For selects that need no session."""
    kept: list[Living] = []
    kept.append(Living(folder, disk, *more, **job, histories=lambda node: _archive(kept[0], node)))
    return kept[0]


def _archive(home: Living, node: Recall) -> Archive:
    archive, position = home.log.archive, home.log.position
    scans = [scan for history in node.histories for scan in history.walk() if isinstance(scan, Scan)]
    files = {scan.extent: archive.snapshot(scan.stream, position) for scan in scans}
    no_session: Any = None
    context = BatchContext(no_session, lambda scan: None, {}, {}, 0, 0, 1, files=lambda scan: files[scan.extent])
    return history_of(node, context)
