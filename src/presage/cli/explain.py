"""`presage explain`: statements in, the plans of their queries out. Without Spark."""

from __future__ import annotations

import sys

from presage.cli.failures import reported
from presage.cli.options import Debug, File, Home
from presage.cli.text import name_of, read_text


def explain(file: File, home: Home = None, debug: Debug = False) -> None:
    """Show how the queries of a file are carried out: plans, keys, parallelism, state, warnings."""
    with reported(debug=debug):
        text = read_text(file)
        # Here, since `presage --help` needs none of it.
        from presage.cli.plans import explain_all

        sys.stdout.write("\n".join(explain_all(text, name_of(file), home)) + "\n")
