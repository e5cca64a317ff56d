"""The parts of an engine in, its figures out: when they are asked for, and as reports for other processes."""

from __future__ import annotations

import os

from presage.log import Log
from presage.logging import INFO, log_as_environment_says, tell
from presage.model.paths import local_path
from presage.operations.collecting import Collector
from presage.operations.reporting import Reporter


class Watch:
    """Begins with an engine and ends with it. `metrics()` gives the figures of now."""

    def __init__(
        self,
        log: Log,
        metrics: Collector,
        statements: int,
        metrics_file: str | os.PathLike[str] | None = None,
    ) -> None:
        log_as_environment_says()
        self._home = log.home.path
        self.metrics = metrics
        # Nobody could look for a home that has no name.
        shown = None if log.home.is_temporary else self._home
        self._reporter = Reporter(
            self.metrics, shown, local_path(metrics_file, "a file of figures") if metrics_file is not None else None
        )
        told = "the home '{home}' is open: {statements} statements, position {position}"
        tell(INFO, "ENGINE_OPENED", told, home=self._home, statements=statements, position=log.position)

    def stop(self) -> None:
        self._reporter.stop()
        tell(INFO, "ENGINE_CLOSED", "the home '{home}' is closed", home=self._home)
