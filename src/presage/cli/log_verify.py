"""`presage log HOME verify`: reads every file that the journal and the tables refer to, and reports damage."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from presage.cli.failures import ATTENTION, reported
from presage.cli.options import Debug, LookFormat, OutputLook
from presage.cli.progress import Progress

Quick = Annotated[bool, typer.Option("--quick", help="Read the numbers and times of events, and not their values.")]


def verify(
    context: typer.Context, format: OutputLook = LookFormat.table, quick: Quick = False, debug: Debug = False
) -> None:
    """Check that all files exist, are complete, and fit the row counts and bounds of journal and tables.

    Works beside a running engine. Exits with 0 if all is well, 3 if something is wrong, 1 if the folder is not a home.
    """
    with reported(as_json=format is LookFormat.json, debug=debug):
        from presage.operations.verification import Verification

        verification = Verification(context.obj, quick)
        with Progress("reading the home"):
            findings = list(verification.findings())
        checked = verification.checked
        if format is LookFormat.json:
            wrong = [vars(finding) for finding in findings]
            sys.stdout.write(json.dumps({"findings": wrong, "checked": vars(checked)}, ensure_ascii=False) + "\n")
        else:
            for finding in findings:
                sys.stdout.write(f"{finding.where}: {finding.what}\n  fix: {finding.fix}\n")
            verdict = f"{len(findings)} found wrong" if findings else "all is well"
            sys.stdout.write(
                f"{verdict}: {checked.tables:,} tables, {checked.files:,} files, {checked.rows:,} rows, "
                f"{checked.states:,} states read\n"
            )
    if findings:
        raise SystemExit(ATTENTION)
