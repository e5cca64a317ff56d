"""`presage explain`: the plans of the queries in a file, as text or as a picture. Needs no Spark."""

from __future__ import annotations

import sys

from presage.cli.failures import reported
from presage.cli.options import Debug, File, Home, OutputPlan, PlanFormat
from presage.cli.text import name_of, read_text


def explain(file: File, format: OutputPlan = PlanFormat.text, home: Home = None, debug: Debug = False) -> None:
    """Show how the queries of a file are executed: plans, keys, parallelism, state, warnings."""
    with reported(debug=debug):
        text = read_text(file)
        # Imported here to keep `presage --help` fast.
        from presage.cli.plans import draw_all, explain_all

        if format is PlanFormat.svg:
            sys.stdout.write(draw_all(text, name_of(file), home) + "\n")
        else:
            sys.stdout.write("\n".join(explain_all(text, name_of(file), home)) + "\n")
