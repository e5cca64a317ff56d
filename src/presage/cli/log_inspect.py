"""`presage log HOME inspect`: tables, files, journal, and who still reads what. With or without a running engine."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug, LookFormat, OutputLook

if TYPE_CHECKING:
    from rich.console import RenderableType

Records = Annotated[
    int, typer.Option("--records", min=0, metavar="N", help="How many of the newest journal records to show.")
]


def inspect(
    context: typer.Context, format: OutputLook = LookFormat.table, records: Records = 10, debug: Debug = False
) -> None:
    """Show the contents of the log: tables with versions, files and chunks, journal, statements that still read."""
    with reported(as_json=format is LookFormat.json, debug=debug):
        from presage.operations.inspection import inspect_home
        from presage.storage.snapshot_reader import read_snapshot

        found = inspect_home(read_snapshot(context.obj), records)
        if format is LookFormat.json:
            sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        else:
            from presage.cli.figures import show
            from presage.cli.tables import console_for_stdout

            show(console_for_stdout(), _parts(found))


def _parts(found: dict[str, Any]) -> list[RenderableType | None]:
    from rich.text import Text

    from presage.cli.figures import count, moment, section, short, size

    journal, states = found["journal"], found["states"]
    head = [
        f"{found['home']}, last opened by {found['owner'] or 'nobody'}",
        f"position {count(found['position'])}; journal: {count(journal['records'])} records, "
        f"{count(journal['since_head'])} since the head, {len(journal['pending'])} not carried out; "
        f"{count(journal['once_keys'])} once keys; catalog version {journal['catalog_version']}; "
        f"{count(states['files'])} state files, {size(states['bytes'])}",
    ]
    tables = section(
        "Tables",
        ("stream", "table", "version", "record", "files", "rows", "size", "from", "to", "present", "recent", "old"),
        [
            (
                short(t["stream"]),
                t["table"],
                count(t["version"]),
                count(t["transaction"]),
                count(t["files"]),
                count(t["rows"]),
                size(t["bytes"]),
                moment(t["first_time"]),
                moment(t["last_time"]),
                *(count(t["chunks"].get(age, {}).get("files")) for age in ("present", "recent", "old")),
            )
            for t in found["tables"]
        ],
        left=2,
    )
    readers = section(
        "Statements that still read",
        ("statement", "state", "streams", "position", "watermark"),
        [
            (
                short(r["statement"]),
                r["status"],
                short(", ".join(r["streams"])),
                count(r["position"]),
                moment(r["clock"]),
            )
            for r in found["readers"]
        ],
        left=3,
    )
    records = section(
        "Last records",
        ("record", "kind", "at", "stream", "rows added", "files removed", "statements"),
        [
            (
                str(r["n"]),
                r["kind"],
                moment(r["at"]),
                short(r["stream"] or ""),
                short(", ".join(f"{rows:,} in {stream}" for stream, rows in r["rows"].items())),
                count(r["removed_files"]),
                count(r["statements"]),
            )
            for r in found["records"]
        ],
        left=5,
    )
    return [*(Text(line) for line in head), Text(""), tables, readers, records]
