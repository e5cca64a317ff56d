"""`presage metrics`: the metrics of a home for a monitoring system."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug, HomeFolder


class MetricsFormat(StrEnum):
    """The format of metrics."""

    prometheus = "prometheus"
    json = "json"


OutputMetrics = Annotated[
    MetricsFormat, typer.Option("--format", "-f", help="prometheus: its text format 0.0.4; json: one object.")
]


def metrics(home: HomeFolder, format: OutputMetrics = MetricsFormat.prometheus, debug: Debug = False) -> None:
    """Print the metrics of a home, from its running engine, or from its journal if none runs."""
    with reported(as_json=format is MetricsFormat.json, debug=debug):
        from presage.operations.status import metrics_of

        found, _ = metrics_of(home)
        sys.stdout.write(found.prometheus() if format is MetricsFormat.prometheus else found.json() + "\n")
