"""`presage test`: runs files of scenarios and reports each one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from presage.cli.failures import FAILED, report, reported
from presage.cli.options import Debug, Format, OutputFormat
from presage.cli.parameters import Argument

Files = Annotated[list[str], Argument(metavar="SCENARIO.epl…", help="Files with scenarios.")]


def try_scenarios(files: Files, format: OutputFormat = Format.table, debug: Debug = False) -> None:
    """Run scenarios: events, time and expected rows (ASSERT). Spark is started only if an expression needs it."""
    with reported(as_json=format is Format.json, debug=debug):
        # Imported here to keep `presage --help` fast.
        from presage.model.arrow_and_pandas import leave_pandas_out

        leave_pandas_out()
        from presage.execution.spark.jvm import SMALL, launch_when_needed
        from presage.scenarios import run_scenarios

        launch_when_needed(SMALL, quiet=not debug)
        tried = failed = 0
        for file in files:
            for outcome in run_scenarios(Path(file), name=file):
                tried += 1
                failed += not outcome.passed
                if format is Format.json:
                    said = {
                        "file": file,
                        "scenario": outcome.title,
                        "passed": outcome.passed,
                        "seconds": round(outcome.seconds, 3),
                        "assertions": outcome.assertions,
                    }
                    sys.stdout.write(json.dumps(said, ensure_ascii=False) + "\n")
                else:
                    mark = "ok    " if outcome.passed else "FAILED"
                    sys.stdout.write(f"{mark}  {outcome.title}  ({outcome.seconds:.2f} s)\n")
                sys.stdout.flush()
                if outcome.failure is not None:
                    report(outcome.failure, format is Format.json)
        if format is not Format.json:
            sys.stdout.write(f"{tried - failed} passed, {failed} failed\n")
        if failed:
            raise SystemExit(FAILED)
