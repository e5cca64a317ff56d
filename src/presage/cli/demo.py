"""`presage demo`: an example step by step, with its events, its queries and their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.jvm_options import prepare_jvm
from presage.cli.options import Debug
from presage.demo.examples import ExampleName
from presage.errors import error

Name = Annotated[
    ExampleName,
    typer.Argument(help="A smart building; a small campus that is queried by its ontology; a whole campus, live."),
]
Files = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", help="Also write the example's statements and events there; not of campus."),
]
Serve = Annotated[bool, typer.Option("--serve", help="campus: show it in the console of a browser, too.")]
Port = Annotated[int, typer.Option("--port", "-p", min=0, max=65_535, help="campus: where the console listens.")]
Seconds = Annotated[
    float | None,
    typer.Option("--for", metavar="SECONDS", min=1, help="campus: how long events come.", show_default=False),
]
Sensors = Annotated[
    int | None,
    typer.Option("--sensors", min=100, metavar="N", help="campus: how many; by default as many as the machine takes."),
]


def demo(
    name: Name = ExampleName.BUILDING,
    files: Files = None,
    serve: Serve = False,
    port: Port = 8765,
    seconds: Seconds = None,
    sensors: Sensors = None,
    debug: Debug = False,
) -> None:
    """Show an example: its events, its queries, and what they find."""
    with reported(debug=debug):
        living = {"--serve": serve, "--for": seconds is not None, "--sensors": sensors is not None}
        _refuse(name, living if name != ExampleName.CAMPUS else {"--files": files is not None})
        prepare_jvm([], None, debug)
        # Imported here: other commands do not need it.
        if name == ExampleName.CAMPUS:
            from presage.demo.campus import demonstrate_campus

            demonstrate_campus(sensors, seconds, serve, port, debug)
            return
        from presage.demo.walkthrough import demonstrate

        demonstrate(name, files, debug)


def _refuse(name: ExampleName, options: dict[str, bool]) -> None:
    """Refuse options that the example does not use."""
    for option, given in options.items():
        if given:
            other = "presage demo knowledge" if name == ExampleName.CAMPUS else "presage demo campus"
            fix = f"{other} takes it"
            raise error("UNSUPPORTED", what=option, where=f"by presage demo {name}", fix=fix)
