"""`presage check`: all errors of a file of statements, found without Spark in a fraction of a second."""

from __future__ import annotations

from presage.cli.options import Debug, File, Format, OutputFormat


def check(file: File, format: OutputFormat = Format.table, debug: Debug = False) -> None:
    """Find the mistakes in a file without running it: syntax, names and types."""
    # Here, since `presage --help` needs none of it.
    from presage.cli.checking import check_file

    check_file(file, format is Format.json, debug)
