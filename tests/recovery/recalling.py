"""A home without Spark whose statements recall: history is read in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from presage.execution.local import HistoryAccess, derived_run
from presage.operators.recall.archive_history import open_history
from presage.operators.recall.executor import Archive
from presage.operators.recall.nodes import Recall
from presage.operators.running import STEPS
from presage.plan.nodes import Scan
from recovery.crashing import MemoryDisk
from recovery.living import Living


def recalling_home(folder: Path, disk: MemoryDisk | None = None, *more: Any, **job: Any) -> Living:
    kept: list[Living] = []
    kept.append(Living(folder, disk, *more, **job, histories=lambda node: _archive(kept[0], node)))
    return kept[0]


def _archive(home: Living, node: Recall) -> Archive:
    archive, position = home.log.archive, home.log.position
    scans = [scan for history in node.histories for scan in history.walk() if isinstance(scan, Scan)]
    files = {scan.extent: archive.snapshot(scan.stream, position) for scan in scans}
    local = derived_run(node, files, {}, STEPS, lambda inner: _archive(home, inner))

    def no_spark(why: str) -> Any:
        raise AssertionError(why)

    return open_history(node, HistoryAccess(local, no_spark, deployed=True))
