"""`presage query`: prints the rows of each query of a file."""

from __future__ import annotations

from presage.cli.events import parse_event_files
from presage.cli.failures import reported
from presage.cli.jvm_options import read_checked
from presage.cli.options import (
    ROWS,
    AllowEnv,
    AllowFormat,
    AllowHost,
    Debug,
    Events,
    File,
    Format,
    Home,
    OutputFormat,
    Rows,
    permissions,
)
from presage.cli.text import name_of


def query(
    file: File,
    events: Events = [],  # noqa: B006  Typer's way to say: none given
    format: OutputFormat = Format.table,
    rows: Rows = ROWS,
    home: Home = None,
    allow_env: AllowEnv = [],  # noqa: B006
    allow_host: AllowHost = [],  # noqa: B006
    allow_format: AllowFormat = [],  # noqa: B006
    debug: Debug = False,
) -> None:
    """Execute the declarations of a file, load events, and print the rows of its queries."""
    files = parse_event_files(events)
    with reported(as_json=format is Format.json, debug=debug):
        text = read_checked(file, files, home, debug)
        # Imported here: `presage check` and `--help` stay fast.
        from presage.model.arrow_and_pandas import leave_pandas_out

        leave_pandas_out()
        from presage.cli.script_results import answer

        answer(text, name_of(file), files, format, rows, home, debug, permissions(allow_env, allow_host, allow_format))
