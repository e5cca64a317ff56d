"""`presage run`: executes a file; prints a line for each declaration and the rows of each query."""

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
    Logs,
    OutputFormat,
    Rows,
    Seconds,
    Standby,
    permissions,
)
from presage.cli.text import name_of
from presage.logging import log_to


def run(
    file: File,
    events: Events = [],  # noqa: B006  Typer's way to say: none given
    format: OutputFormat = Format.table,
    rows: Rows = ROWS,
    home: Home = None,
    standby: Standby = False,
    seconds: Seconds = None,
    log: Logs = None,
    allow_env: AllowEnv = [],  # noqa: B006
    allow_host: AllowHost = [],  # noqa: B006
    allow_format: AllowFormat = [],  # noqa: B006
    debug: Debug = False,
) -> None:
    """Execute every statement of a file in order, and report each one.

    A query over a stream that a source fills has no end: its rows are printed as they come, until you interrupt it.
    """
    files = parse_event_files(events)
    if log is not None:
        log_to(log.value)
    with reported(as_json=format is Format.json, debug=debug):
        text = read_checked(file, files, home, debug)
        # Imported here: `presage check` and `--help` stay fast.
        from presage.cli.script_results import execute_all, waiting

        allowed = {
            **permissions(allow_env, allow_host, allow_format),
            "standby": waiting() if standby else False,
        }
        execute_all(text, name_of(file), files, format, rows, home, debug, allowed, seconds)
