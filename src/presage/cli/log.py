"""`presage log HOME …`: inspection, verification and export of the log of a home."""

from __future__ import annotations

import typer

from presage.cli.failures import reported
from presage.cli.log_compact import compact
from presage.cli.log_copy import copy
from presage.cli.log_export import export
from presage.cli.log_inspect import inspect
from presage.cli.log_repair import repair
from presage.cli.log_verify import verify
from presage.cli.options import HomeFolder
from presage.cli.typer_commands import for_typer
from presage.model.paths import home_place

log = typer.Typer(no_args_is_help=True, help="Inspect, compact, verify, repair, copy or export the log of a home.")


@log.callback()
@for_typer
def home_of(context: typer.Context, home: HomeFolder) -> None:
    """Inspect, compact, verify, repair, copy or export the log of a home."""
    with reported():
        context.obj = home_place(home)


for command in (inspect, compact, verify, repair, copy, export):
    log.command()(for_typer(command))
