"""`presage demo`: an example told step by step: its events, its queries, their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from presage.cli.examples import ExampleName
from presage.cli.failures import reported
from presage.cli.options import Debug
from presage.cli.starting import start_jvm

Name = Annotated[
    ExampleName, typer.Argument(help="A smart building, or a campus that is asked in the words of its ontology.")
]
Files = Annotated[
    Path | None, typer.Option("--files", metavar="DIR", help="Also write the example's statements and events there.")
]


def demo(name: Name = ExampleName.BUILDING, files: Files = None, debug: Debug = False) -> None:
    """Show an example: its events, its queries, and what they find."""
    with reported(debug=debug):
        start_jvm([], None, debug)
        # Here, since the other commands need none of it, and now Spark starts meanwhile.
        from presage.cli.demonstration import demonstrate

        demonstrate(name, files, debug)
