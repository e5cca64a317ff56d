"""The figures of a running engine in, small files that tell them to other processes out, every few seconds.

One is in the home, `running.json`: who has the home, when it was last heard of, and its figures. The lock keeps others
from writing; this file lets them look. It is taken away when the engine is closed, so that one that lies there without
its process is of an engine that was killed. The other, if asked for, has Prometheus' format, for node_exporter.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presage.logging import WARNING, tell
from presage.model.masking import masked
from presage.operations.metrics import Metrics

FILE = "running.json"
SECONDS, FIRST = 5.0, 1.0
# One that was not heard of for so long hangs, or is no more.
STALE = 4 * SECONDS
CLOCK_GRAIN = 2.0  # the system tells when it was started to the second
# What is told per second, by section.
RATES = {"streams": ("events",), "statements": ("rows_in", "rows_out"), "sources": ("rows",), "sinks": ("rows",)}


class Reporter:
    """Writes until `stop`. `home` is None where nobody could look for it: a temporary one."""

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
            # The thread knows it weakly: an engine that nobody closed and nobody holds takes it along.
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
            # Others see that its process is gone.
            tell(WARNING, "UPKEEP_FAILED", "the report of the engine could not be removed: {why}", why=failure)

    def report(self) -> None:
        """Write both files once, whatever comes of it."""
        try:
            metrics = self._collect()
            if self._file is not None:
                content = {
                    "pid": os.getpid(), "host": socket.gethostname(), "since": self._since, "at": time.time(),
                    "rates": rates(self._last, metrics), "metrics": metrics.values,
                }  # fmt: skip
                _replace(self._file, masked(json.dumps(content)))
            if self._metrics_file is not None:
                _replace(self._metrics_file, metrics.prometheus())
            self._last, self._failure = metrics, ""
        except Exception as failure:
            # A full disk, a folder that is gone, an engine that is being closed: the next round may go well.
            if str(failure) != self._failure and not self._stopped.is_set():
                tell(WARNING, "UPKEEP_FAILED", "the figures of the engine could not be written: {why}", why=failure)
            self._failure = str(failure)


@dataclass(frozen=True)
class Report:
    """What an engine last told of itself."""

    pid: int
    host: str
    since: float
    at: float
    rates: Mapping[str, Mapping[str, Mapping[str, float]]]
    metrics: Metrics

    @property
    def age(self) -> float:
        """Seconds since it was told."""
        return max(0.0, time.time() - self.at)

    @property
    def is_alive(self) -> bool:
        """Whether the engine is there: its process, or on another machine its report, which is then a fresh one."""
        if self.host != socket.gethostname():
            return self.age < STALE
        # Another may have its number by now: in a container that is started again it mostly is the same.
        return _is_process(self.pid) and _began(self.pid) <= self.since + CLOCK_GRAIN

    @property
    def is_stale(self) -> bool:
        """Whether an engine that is there has not been heard of for too long."""
        return self.age > STALE

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def read_report(home: Path) -> Report | None:
    """What the engine that has a home told last; None if none has told anything, or it was closed."""
    try:
        content: dict[str, Any] = json.loads((home / FILE).read_bytes())
        return Report(**{**content, "metrics": Metrics(content["metrics"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or one of another version: what the journal says is what is known


def rates(before: Metrics | None, now: Metrics) -> dict[str, dict[str, dict[str, float]]]:
    """What was counted per second between two looks, by section, name and field."""
    if before is None:
        return {}
    seconds = max(now.values["at"] - before.values["at"], 1e-3)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for section, fields in RATES.items():
        old = before.values.get(section, {})
        for name, figures in now.values.get(section, {}).items():
            if name in old:
                grown = {field: max(0.0, figures[field] - old[name][field]) / seconds for field in fields}
                found.setdefault(section, {})[name] = {field: round(rate, 1) for field, rate in grown.items()}
    return found


def _replace(path: Path, text: str) -> None:
    """The file appears whole. It need not survive the loss of power: the next one comes in seconds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _is_process(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # of another user
    return True


def _began(pid: int) -> float:
    """When a process began, in seconds since 1970; 0 where the system does not tell."""
    try:
        # The name of the program comes first, in brackets, and may hold anything.
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
