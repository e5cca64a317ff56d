"""`presage log HOME compact`: maintenance now, in a home that no engine has open."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug

Grace = Annotated[
    float | None,
    typer.Option(
        "--grace",
        min=0,
        metavar="SECONDS",
        help="How long removed files are kept for other readers, by default 600; 0 deletes them now.",
    ),
]
MOST_ROUNDS = 10


def compact(context: typer.Context, grace: Grace = None, debug: Debug = False) -> None:
    """Merge small files, sort old ones by key and time, apply retention, delete unused ones.

    An open engine does this by itself. If another process has the home open, it is named, and nothing is done.
    """
    with reported(debug=debug):
        from presage.cli.script_results import opened
        from presage.storage.home import open_place, read_format

        read_format(*open_place(context.obj))
        with opened(context.obj, debug) as engine:
            compacted = removed = rows = deleted = cleaned = 0
            for _ in range(MOST_ROUNDS):
                done = engine.maintain(grace)
                compacted, removed = compacted + done.compacted, removed + done.removed
                deleted, cleaned, rows = deleted + done.deleted, cleaned + done.cleaned, rows + done.rows_removed
                if not done.compacted and not done.deleted:
                    break
        sys.stdout.write(
            f"{compacted:,} files compacted; past retention: {removed:,} events and {rows:,} rows of statements; "
            f"{deleted:,} files and {cleaned:,} entries of Delta logs deleted\n"
        )
        if done.waiting:
            sys.stdout.write(f"{done.waiting:,} files are kept for other readers; --grace 0 deletes them\n")
