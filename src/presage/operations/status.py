"""The status of a home: from the report of its engine, if one is running, else from its journal.

Nothing is locked or written: it works next to a running engine, and after one was killed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presage.model.paths import home_path
from presage.operations.engine_report import STALE, Report, rates, read_report
from presage.operations.figures import closed_home_metrics
from presage.operations.metrics import Metrics
from presage.storage.home import FOLDERS, read_format
from presage.storage.lock import is_locked
from presage.storage.snapshot_reader import read_snapshot


@dataclass(frozen=True)
class HomeStatus:
    """A home at one moment. `report`: of the engine that is running or was killed; None if there is none."""

    home: Path
    report: Report | None
    metrics: Metrics
    rates: Mapping[str, Any]
    disk: Mapping[str, int]  # bytes, by folder of the home
    locked: bool = False  # as far as the system reports

    @property
    def engine(self) -> str:
        """The engine of the home, in words."""
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
            "home": str(self.home),
            "open": self.is_open,
            "engine": self.engine,
            "problems": self.problems(),
            "rates": self.rates,
            "disk": self.disk,
            **self.metrics.values,
        }


def status_of(home: str | os.PathLike[str], before: HomeStatus | None = None) -> HomeStatus:
    """The status of a home. `before`: an earlier status, for rates."""
    folder = home_path(home).resolve()
    read_format(folder)
    metrics, report = metrics_of(folder)
    per_second = report.rates if report is not None and report.is_alive else {}
    if before is not None and before.metrics.values["at"] < metrics.values["at"]:
        per_second = rates(before.metrics, metrics)
    elif before is not None:
        per_second = before.rates  # no new report since
    return HomeStatus(folder, report, metrics, per_second, disk_use(folder), is_locked(folder))


def metrics_of(home: Path) -> tuple[Metrics, Report | None]:
    """The metrics of a home: those that its engine reported last, if one is running; else those of its journal."""
    report = read_report(home)
    if report is not None and report.is_alive:
        return report.metrics, report
    return closed_home_metrics(read_snapshot(home)), report


def disk_use(home: Path) -> dict[str, int]:
    """Bytes of each folder of a home, and of all of it."""
    sizes = dict.fromkeys((*FOLDERS, "results"), 0)
    total = 0
    for place, _, names in os.walk(home):
        parts = Path(place).relative_to(home).parts
        for name in names:
            try:
                size = os.lstat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue  # deleted in the meantime
            total += size
            if parts and parts[0] in sizes:
                sizes[parts[0]] += size
    return {**sizes, "total": total}
