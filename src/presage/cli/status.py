"""`presage status`: the state of a home and of all that is in it, whether or not an engine is running."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli.failures import ATTENTION, reported
from presage.cli.options import Debug, HomeFolder, LookFormat, OutputLook

if TYPE_CHECKING:
    from rich.console import RenderableType

    from presage.operations.status import HomeStatus

Watch = Annotated[
    float | None,
    typer.Option("--watch", min=0.5, metavar="SECONDS", help="Repeat until you interrupt it."),
]


def status(home: HomeFolder, format: OutputLook = LookFormat.table, watch: Watch = None, debug: Debug = False) -> None:
    """Show the status of the streams, statements, sources and sinks of a home.

    Exits with 0 if all is well, 3 if something needs attention: a statement, a source or a sink that has failed,
    batches that fail, an engine that hangs; 1 if the folder is not a home or is damaged.
    """
    with reported(as_json=format is LookFormat.json, debug=debug):
        problems = _watch(home, format, watch) if watch is not None else _once(home, format)
    if problems:
        raise SystemExit(ATTENTION)


def _once(home: Path, format: LookFormat) -> bool:
    from presage.operations.status import status_of

    seen = status_of(home)
    if format is LookFormat.json:
        _print_json(seen)
    else:
        from presage.cli.figures import show
        from presage.cli.tables import console_for_stdout

        show(console_for_stdout(), _parts(seen))
    return bool(seen.problems())


def _watch(home: Path, format: LookFormat, seconds: float) -> bool:
    """Repeat until interrupted; returns whether there were problems at the end."""
    import time

    from presage.operations.status import status_of

    seen = status_of(home)
    try:
        if format is LookFormat.json:
            while True:
                _print_json(seen)
                time.sleep(seconds)
                seen = status_of(home, seen)
        from rich.console import Group
        from rich.live import Live

        from presage.cli.tables import console_for_stdout

        with Live(console=console_for_stdout(), auto_refresh=False) as live:
            while True:
                live.update(Group(*(part for part in _parts(seen) if part is not None)), refresh=True)
                time.sleep(seconds)
                seen = status_of(home, seen)
    except KeyboardInterrupt:
        return bool(seen.problems())  # the user ends it


def _print_json(seen: HomeStatus) -> None:
    import json
    import sys

    sys.stdout.write(json.dumps(seen.to_json(), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _parts(seen: HomeStatus) -> list[RenderableType | None]:
    from rich.text import Text

    from presage.cli.figures import count, moment, rate, section, short, size

    values, told = seen.metrics.values, seen.rates
    memory = values.get("process", {}).get("resident_bytes") if seen.is_open else None
    head = [
        f"{seen.home}: {seen.engine}",
        f"position {count(values['job']['position'])}, {size(seen.disk['total'])} on disk "
        f"(streams {size(seen.disk['streams'])}, results {size(seen.disk['results'])}, "
        f"states {size(seen.disk['states'])}, journal {size(seen.disk['journal'])})"
        + (f", {size(memory)} of memory" if memory else ""),
    ]
    streams = section(
        "Streams",
        ("name", "events", "per second", "late", "rejected", "watermark", "files", "size"),
        [
            (
                short(name),
                count(s["events"]),
                rate(told, "streams", name, "events"),
                count(s["late"]),
                count(s["rejected"]),
                moment(s["watermark"]),
                count(s["files"]),
                size(s["bytes"]),
            )
            for name, s in values["streams"].items()
        ],
    )
    statements = section(
        "Statements",
        ("name", "state", "rows in", "per second", "rows out", "lag", "watermark", "size", "last error"),
        [
            (
                short(name),
                s["state"],
                count(s["rows_in"]),
                rate(told, "statements", name, "rows_in"),
                count(s["rows_out"]),
                count(s["lag"]),
                moment(s["watermark"]),
                size(s["state_bytes"]),
                short(s["error"]),
            )
            for name, s in values["statements"].items()
        ],
    )
    sources = section(
        "Sources",
        ("stream", "source", "state", "rows", "rejected", "left", "why"),
        [
            (
                short(name),
                s["source"],
                s["state"],
                count(s["rows"]),
                count(s["rejected"]),
                count(s.get("left")),
                short(s.get("why") or "; ".join(s.get("notes", ()))),
            )
            for name, s in values["sources"].items()
        ],
        left=2,
    )
    sinks = section(
        "Sinks",
        ("name", "kind", "of", "state", "rows", "skipped", "left", "retries", "why"),
        [
            (
                short(name),
                s["kind"],
                short(s["statement"]),
                s["state"],
                count(s["rows"]),
                count(s["skipped"]),
                count(s["left"]),
                count(s["retries"]),
                short(s["why"]),
            )
            for name, s in values.get("sinks", {}).items()
        ],
        left=3,
    )
    open_recalls = {n: s["recalls"] for n, s in values["statements"].items() if any(s["recalls"].values())}
    recalls = section(
        "Recalls",
        ("statement", "ready", "suspended"),
        [(short(name), count(r["ready"]), count(r["suspended"])) for name, r in open_recalls.items()],
    )
    wrong = [Text(problem, style="bold red") for problem in seen.problems()]
    return [*(Text(line) for line in head), Text(""), streams, statements, sources, sinks, recalls, *wrong]
