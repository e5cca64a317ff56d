"""`presage log HOME repair`: writes again what is damaged, as far as the rest of the home tells, and names the rest."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli.failures import ATTENTION, reported
from presage.cli.options import Debug, LookFormat, OutputLook
from presage.cli.progress import Progress

if TYPE_CHECKING:
    from presage.operations.verification import Finding
    from presage.storage.home_repair import Repaired

Plan = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")]


def repair(
    context: typer.Context, format: OutputLook = LookFormat.table, dry_run: Plan = False, debug: Debug = False
) -> None:
    """Repair a home that no engine has open: logs of tables, declarations, the journal's head, states and rows.

    Nothing that can be read is removed. Exits with 0 if all is well afterwards, 3 if something is still damaged, 1 if
    the home is in use or is none.
    """
    with reported(as_json=format is LookFormat.json, debug=debug):
        from presage.operations.repair import Repair

        work = Repair(context.obj, write=not dry_run)
        with Progress("repairing the home"):
            done = work.files()
            if not dry_run and not any(each.why_not for each in done):
                from presage.engine import Engine

                with Engine(home=context.obj, live=False, driven=False) as engine:
                    done += engine.repair(work)
        with Progress("reading the home"):
            remaining = work.remaining()
        if format is LookFormat.json:
            answer = {"done": [each.to_json() for each in done], "findings": [vars(each) for each in remaining]}
            sys.stdout.write(json.dumps({**answer, "dry_run": dry_run}, ensure_ascii=False) + "\n")
        else:
            _print(done, remaining, dry_run)
    if remaining or any(each.why_not for each in done):
        raise SystemExit(ATTENTION)


def _print(done: list[Repaired], remaining: list[Finding], dry_run: bool) -> None:
    for each in done:
        verdict = f"not repaired: {each.why_not}" if each.why_not else "would be repaired" if dry_run else "repaired"
        sys.stdout.write(f"{each.where}: {each.what}\n  {verdict}\n")
    for finding in remaining:
        sys.stdout.write(f"{finding.where}: {finding.what}\n  fix: {finding.fix}\n")
    repaired = sum(not each.why_not for each in done)
    rest = f"{len(remaining):,} still damaged" if remaining else "all is well"
    sys.stdout.write(f"{repaired:,} {'would be ' if dry_run else ''}repaired; {rest}\n")
