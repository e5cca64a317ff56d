"""All commands under one name, as a Typer application."""

from __future__ import annotations

from typing import Annotated

import typer

from presage import __version__
from presage.cli.check import check
from presage.cli.declare import declare
from presage.cli.demo import demo
from presage.cli.explain import explain
from presage.cli.log import log
from presage.cli.metrics import metrics
from presage.cli.query import query
from presage.cli.run import run
from presage.cli.serve import serve
from presage.cli.status import status
from presage.cli.test import try_scenarios
from presage.cli.typer_commands import for_typer

app = typer.Typer(
    name="presage",
    add_completion=False,
    no_args_is_help=True,
    # Errors are printed as messages; `--debug` adds the traceback.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"presage {__version__}")
        raise typer.Exit


@app.callback()
def presage(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Complex event processing for Spark: one query over past, live and predicted events."""


for command in (query, run, explain, check, declare, demo, serve, status, metrics):
    app.command()(for_typer(command))
app.command("test")(for_typer(try_scenarios))
app.add_typer(log, name="log")
