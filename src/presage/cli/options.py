"""The arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from presage.cli.parameters import Argument, Option


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


class PlanFormat(StrEnum):
    """How plans are shown."""

    text = "text"
    svg = "svg"


class LookFormat(StrEnum):
    """How a report is printed."""

    table = "table"
    json = "json"


HomeFolder = Annotated[Path, Argument(metavar="HOME", help="The home folder of an engine, running or not.")]
OutputLook = Annotated[LookFormat, Option(("--format", "-f"), help="json is one object per line.")]
File = Annotated[str, Argument(metavar="FILE.epl", help="The file with the statements; - reads them from stdin.")]
Events = Annotated[
    list[str],
    Option(
        ("--events", "-e"),
        metavar="STREAM=PATH",
        help="Load a CSV, JSON, JSON-lines or Parquet file, or a folder of them, into a stream. May be repeated.",
    ),
]
OutputFormat = Annotated[Format, Option(("--format", "-f"), help="How rows are printed; json is one object per line.")]
OutputPlan = Annotated[
    PlanFormat,
    Option(("--format", "-f"), help="svg draws the automata of MATCH_RECOGNIZE and the terms of PATTERN."),
]
Rows = Annotated[int, Option(("--rows",), least=0, metavar="N", help="The maximum number of rows in a table; 0: all.")]
Home = Annotated[
    Path | None,
    Option(("--home",), metavar="DIR", help="The folder that keeps streams and events. Without it, nothing is kept."),
]
Standby = Annotated[bool, Option(("--standby",), help="Wait until no other process has the home, then take over.")]
Seconds = Annotated[
    float | None,
    Option(("--for",), least=0, metavar="SECONDS", help="How long to follow queries over streams that a source fills."),
]


class LogFormat(StrEnum):
    """How log records are written."""

    json = "json"
    text = "text"


Logs = Annotated[LogFormat | None, Option(("--log",), help="Write log records to stderr; json is one object per line.")]
AllowEnv = Annotated[
    list[str],
    Option(
        ("--allow-env",),
        metavar="NAME",
        help="An environment variable that options may refer to as env:NAME. May be repeated.",
    ),
]
AllowHost = Annotated[
    list[str],
    Option(
        ("--allow-host",),
        metavar="HOST",
        help="A host that sources and sinks may connect to; all but this machine by default. May be repeated.",
    ),
]
AllowFormat = Annotated[
    list[str],
    Option(
        ("--allow-format",),
        metavar="FORMAT",
        help="A format of Spark that source = 'spark' may read with, besides generated rows. May be repeated.",
    ),
]
Debug = Annotated[bool, Option(("--debug",), help="Show the traceback of an unexpected error.")]

ROWS = 200


def permissions(allow_env: list[str], allow_host: list[str], allow_format: list[str]) -> dict[str, Any]:
    """What an engine is opened with. No host named: all but this machine."""
    return {"allow_env": allow_env, "allow_hosts": allow_host or None, "allow_formats": allow_format}
