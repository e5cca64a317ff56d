"""The report of a running engine: small files with its metrics for other processes, written every few seconds.

One is running.json in the home: the process, a heartbeat, and its metrics. It is removed when the engine is closed:
if it exists without its process, the engine was killed. The other, if configured, is in Prometheus' format, for
node_exporter.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presage.logging import INFO, WARNING, log_as_environment_says, tell
from presage.model.paths import local_path
from presage.model.redaction import masked
from presage.operations.metrics import Metrics
from presage.storage import Log

FILE = "running.json"
SECONDS, FIRST = 5.0, 1.0
# Without a heartbeat for this long, the engine hangs or is gone.
STALE = 4 * SECONDS
CLOCK_GRAIN = 2.0  # of the start time of a process
# Metrics with a rate per second, by section.
RATES = {"streams": ("events",), "statements": ("rows_in", "rows_out"), "sources": ("rows",), "sinks": ("rows",)}


class Reporter:
    """Writes reports until `stop`. `home`: None for a temporary one, which no other process looks for."""

    def __init__(self, collect: Callable[[], Metrics], home: Path | None, metrics_file: Path | None = None) -> None:
        self._collect = collect
        self._file = home / FILE if home is not None else None
        self._metrics_file = metrics_file
        self._since = time.time()
        self._last: Metrics | None = None
        self._failure = ""
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        if self._file is not None or metrics_file is not None:
            # Weak reference: the thread stops when an unclosed engine is garbage-collected.
            arguments = (weakref.ref(self), self._stopped)
            self._thread = threading.Thread(target=_report, args=arguments, name="presage-report", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._file is not None:
                self._file.unlink(missing_ok=True)
        except OSError as failure:
            # Other processes see that the process is gone.
            tell(WARNING, "UPKEEP_FAILED", "the report of the engine could not be removed: {why}", why=failure)

    def report(self) -> None:
        """Write both files once. Failures are logged, not raised."""
        try:
            metrics = self._collect()
            if self._file is not None:
                who = {"pid": os.getpid(), "host": socket.gethostname(), "since": self._since, "at": time.time()}
                content = {**who, "rates": rates(self._last, metrics), "metrics": metrics.values}
                _replace(self._file, masked(json.dumps(content)))
            if self._metrics_file is not None:
                _replace(self._metrics_file, metrics.prometheus())
            self._last, self._failure = metrics, ""
        except Exception as failure:
            # A full disk, a missing folder, an engine that is being closed: the next round retries.
            if str(failure) != self._failure and not self._stopped.is_set():
                tell(WARNING, "UPKEEP_FAILED", "the figures of the engine could not be written: {why}", why=failure)
            self._failure = str(failure)


class EngineReport:
    """Metrics of an engine from its opening to its closing: `metrics()` for callers, reports for other processes."""

    def __init__(
        self,
        log: Log,
        metrics: Callable[[], Metrics],
        statements: int,
        metrics_file: str | os.PathLike[str] | None = None,
    ) -> None:
        log_as_environment_says()
        self._home = log.home.path
        self.metrics = metrics
        file = local_path(metrics_file, "a file of figures") if metrics_file is not None else None
        self._reporter = Reporter(metrics, None if log.home.is_temporary else self._home, file)
        text = "the home '{home}' is open: {statements} statements, position {position}"
        tell(INFO, "ENGINE_OPENED", text, home=self._home, statements=statements, position=log.position)

    def stop(self) -> None:
        self._reporter.stop()
        tell(INFO, "ENGINE_CLOSED", "the home '{home}' is closed", home=self._home)


@dataclass(frozen=True)
class Report:
    """The last report of an engine."""

    pid: int
    host: str
    since: float
    at: float
    rates: Mapping[str, Mapping[str, Mapping[str, float]]]
    metrics: Metrics

    @property
    def age(self) -> float:
        """Seconds since the heartbeat."""
        return max(0.0, time.time() - self.at)

    @property
    def is_alive(self) -> bool:
        """Whether the engine's process exists; on another machine, whether its report is fresh."""
        if self.host != socket.gethostname():
            return self.age < STALE
        # Another process may have its pid: in a restarted container pids are mostly the same.
        return _is_process(self.pid) and _began(self.pid) <= self.since + CLOCK_GRAIN

    @property
    def is_stale(self) -> bool:
        """Whether the heartbeat is overdue."""
        return self.age > STALE

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def read_report(home: Path) -> Report | None:
    """The last report of a home's engine; None if there is none, or it was closed."""
    try:
        content: dict[str, Any] = json.loads((home / FILE).read_bytes())
        return Report(**{**content, "metrics": Metrics(content["metrics"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or it is of another version: the journal has the metrics


def rates(before: Metrics | None, now: Metrics) -> dict[str, dict[str, dict[str, float]]]:
    """Rates per second between two reports, by section, name and field."""
    if before is None:
        return {}
    seconds = max(now.values["at"] - before.values["at"], 1e-3)
    result: dict[str, dict[str, dict[str, float]]] = {}
    for section, fields in RATES.items():
        old = before.values.get(section, {})
        for name, figures in now.values.get(section, {}).items():
            if name in old:
                grown = {field: max(0.0, figures[field] - old[name][field]) / seconds for field in fields}
                result.setdefault(section, {})[name] = {field: round(rate, 1) for field, rate in grown.items()}
    return result


def _replace(path: Path, text: str) -> None:
    """Write a file atomically, but not durably: the next one follows in seconds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _is_process(pid: int) -> bool:
    try:
        with suppress(PermissionError):  # a process of another user
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _began(pid: int) -> float:
    """When a process started, in seconds since 1970; 0 if unknown."""
    try:
        # The program's name comes first, in brackets, and may contain anything.
        ticks = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
        started = next(line.split()[1] for line in Path("/proc/stat").read_text().splitlines() if line[:6] == "btime ")
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0
    return int(started) + ticks / os.sysconf("SC_CLK_TCK")


def _report(reporter: weakref.ref[Reporter], stopped: threading.Event) -> None:
    pause = FIRST
    while not stopped.wait(pause):
        alive = reporter()
        if alive is None:
            return
        alive.report()
        del alive
        pause = SECONDS
