"""`presage log HOME copy TO`: copies a home that no engine has open, to a folder or bucket, and verifies it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug
from presage.cli.progress import Progress

To = Annotated[str, typer.Argument(metavar="TO", help="A folder that is empty or does not exist, or an address.")]
Keep = Annotated[
    bool, typer.Option("--keep-identity", help="For a home that moves: it must not be opened again where it was.")
]


def copy(context: typer.Context, to: To, keep_identity: Keep = False, debug: Debug = False) -> None:
    """Copy the home; each file is compared with its digest. An interrupted copy is no home; begun again, it goes on.

    The copy has an identity of its own, so that sinks of both homes may write into one folder.
    """
    with reported(debug=debug):
        from presage.operations.copying import Copy

        with Progress(f"copying to {to}"):
            done = Copy(context.obj, to, keep_identity).run()
        kept = f", {done.kept:,} of them were there" if done.kept else ""
        sys.stdout.write(f"{done.files:,} files, {done.bytes:,} bytes{kept}; all compared; identity {done.id}\n")
