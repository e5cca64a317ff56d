"""`presage demo`: the smart building of the EPL paper: its events, five queries, their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug
from presage.cli.starting import start_jvm

Files = Annotated[
    Path | None, typer.Option("--files", metavar="DIR", help="Also write the example's statements and events there.")
]


def demo(files: Files = None, debug: Debug = False) -> None:
    """Show a smart building: events of cameras and thermometers, five queries and what they find."""
    with reported(debug=debug):
        start_jvm([], None, debug)
        # Here, since the other commands need none of it, and now Spark starts meanwhile.
        from presage.cli.demonstration import demonstrate

        demonstrate(files, debug)
