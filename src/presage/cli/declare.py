"""`presage declare`: a CREATE STREAM that fits a file of events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from presage.cli.options import Debug

EventsPath = Annotated[
    Path,
    typer.Argument(
        metavar="EVENTS", help="A CSV, JSON, JSON-lines or Parquet file, a folder of them, or a Delta table."
    ),
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="STREAM", help="The name of the stream; by default that of the file.")
]


def declare(events: EventsPath, name: Name = None, debug: Debug = False) -> None:
    """Print a CREATE STREAM that fits the events of a file, as a starting point."""
    # Here, since `presage --help` needs none of it.
    from presage.cli.declaring import declare_events

    declare_events(events, name, debug)
