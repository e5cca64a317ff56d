"""The declaration of a file of events, printed. Apart from `cli.declare`: `presage --help` loads no data library."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from presage.cli.failures import reported
from presage.storage.suggestion import declaration, named_after, remarks, suggest


def declare_events(path: Path, name: str | None = None, debug: bool = False) -> None:
    """Look at all rows, and print."""
    with reported(debug=debug):
        path = path.expanduser()
        found, stream = suggest(path), name or named_after(path.resolve())
        for line in remarks(path.name, found):
            sys.stdout.write(f"-- {line}\n")
        sys.stdout.write(declaration(stream, found) + "\n")
        load = shlex.quote(f"{stream}={path}")
        sys.stderr.write(f"Save it in a file, add a query, and run: presage query FILE.epl --events {load}\n")
