"""The name of a file in, all errors in its statements on stderr out. No Spark, no Typer: it must be quick."""

from __future__ import annotations

import sys

from presage.cli.failures import reported
from presage.cli.text import name_of, read_text
from presage.workspace import Workspace


def check_file(file: str, as_json: bool = False, debug: bool = False) -> None:
    """Check every statement; SystemExit(1) if one is wrong."""
    with reported(as_json, debug):
        script = Workspace(None, ".").check(read_text(file), name_of(file))
        if not as_json:
            count = len(script.statements)
            sys.stdout.write(f"{name_of(file)}: {count} statement{'' if count == 1 else 's'}, no errors\n")
