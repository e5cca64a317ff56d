"""The status of a home: from the report of its engine, if one is running, else from its journal.

Nothing is locked or written: it works next to a running engine, and after one was killed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from presage.operations.engine_report import STALE, Report, rates, read_report
from presage.operations.figures import closed_home_metrics
from presage.operations.metrics import Metrics
from presage.storage.failures import storage
from presage.storage.home import FOLDERS, open_place, read_format
from presage.storage.home_lease import live_lease
from presage.storage.lock import is_locked
from presage.storage.snapshot_reader import read_snapshot
from presage.storage.store import Store


@dataclass(frozen=True)
class HomeStatus:
    """A home at one moment. `report`: of the engine that is running or was killed; None if there is none."""

    home: str  # its path or address
    report: Report | None
    metrics: Metrics
    rates: Mapping[str, Any]
    disk: Mapping[str, int]  # bytes, by folder of the home
    locked: bool = False  # as far as the system reports; in a bucket, whether its lease is renewed
    owner: str = ""  # of a home in a bucket, whose engine writes no report

    @property
    def engine(self) -> str:
        """The engine of the home, in words."""
        if self.locked and self.owner:
            return f"open in {self.owner}"
        if self.report is None or (self.locked and not self.report.is_alive):
            return "open in an engine that has told nothing yet" if self.locked else "no engine has it open"
        if not self.report.is_alive:
            return f"no engine has it open; {self.report} ended without closing it"
        heard = f", last heard of {self.report.age:.0f} s ago" if self.report.is_stale else ""
        return f"open in {self.report}{heard}"

    @property
    def is_open(self) -> bool:
        return self.locked or (self.report is not None and self.report.is_alive)

    def problems(self) -> list[str]:
        """What needs somebody's attention; empty if all is well."""
        values = self.metrics.values
        names = {"statements": "statement '{}'", "sources": "the source of stream '{}'", "sinks": "the sink '{}'"}
        found = [
            f"{text.format(name)} has failed"
            for section, text in names.items()
            for name, figures in values.get(section, {}).items()
            if figures["state"] == "failed"
        ]
        if values["job"].get("failing"):
            found.append(f"batches fail: {values['job'].get('error')}")
        if self.is_open and self.report is not None and self.report.is_stale:
            found.append(f"the engine has not been heard of for more than {STALE:.0f} s")
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "home": self.home,
            "open": self.is_open,
            "engine": self.engine,
            "problems": self.problems(),
            "rates": self.rates,
            "disk": self.disk,
            **self.metrics.values,
        }


def status_of(home: str | os.PathLike[str], before: HomeStatus | None = None) -> HomeStatus:
    """The status of a home. `before`: an earlier status, for rates."""
    store, folder = open_place(home)
    with storage(store.address(folder), "and try again"):
        read_format(store, folder)
        disk = disk_use(store, folder)
        lease = None if store.is_local else live_lease(store, folder)
    metrics, report = metrics_of(home)
    per_second = report.rates if report is not None and report.is_alive else {}
    if before is not None and before.metrics.values["at"] < metrics.values["at"]:
        per_second = rates(before.metrics, metrics)
    elif before is not None:
        per_second = before.rates  # no new report since
    locked = is_locked(Path(folder)) if store.is_local else lease is not None
    owner = lease.owner if lease is not None else ""
    return HomeStatus(store.address(folder), report, metrics, per_second, disk, locked, owner)


def metrics_of(home: str | os.PathLike[str]) -> tuple[Metrics, Report | None]:
    """The metrics of a home: those that its engine reported last, if one is running; else those of its journal. In a
    bucket always those of its journal: a report every few seconds would cost a request each."""
    store, folder = open_place(home)
    with storage(store.address(folder), "and try again"):
        read_format(store, folder)
    report = read_report(Path(folder)) if store.is_local else None
    if report is not None and report.is_alive:
        return report.metrics, report
    return closed_home_metrics(read_snapshot(home)), report


def disk_use(store: Store, home: PurePath) -> dict[str, int]:
    """Bytes of each folder of a home, and of all of it."""
    sizes = dict.fromkeys((*FOLDERS, "results"), 0)
    total = 0
    for path, size in store.sizes(home):
        first, *rest = path.relative_to(home).parts
        total += size
        if rest and first in sizes:
            sizes[first] += size
    return {**sizes, "total": total}
