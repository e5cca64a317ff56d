"""The check of a file of statements. Apart from `cli.check`: it loads neither Spark nor Typer, for editors."""

from __future__ import annotations

import sys
from collections import Counter

from presage.cli.failures import reported, warn
from presage.cli.text import name_of, read_text
from presage.cli.values import counted
from presage.select.warnings import warnings_in
from presage.workspace import Workspace


def check_file(file: str, as_json: bool = False, debug: bool = False) -> None:
    """Check every statement; SystemExit(1) if one is wrong."""
    with reported(as_json, debug):
        script = Workspace(None, ".").check(read_text(file), name_of(file))
        warnings = warnings_in(script)
        warn(warnings, as_json)
        if not as_json:
            words = Counter(each.word for each in warnings)
            found = ", ".join(["no errors", *(counted(number, word) for word, number in words.items())])
            sys.stdout.write(f"{name_of(file)}: {counted(len(script.statements), 'statement')}, {found}\n")
