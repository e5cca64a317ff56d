"""`presage log HOME export STREAM`: its events in the order of their time, as a file. Works beside a running engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli.failures import reported
from presage.cli.options import Debug
from presage.cli.progress import Progress
from presage.errors import error
from presage.model.time import parse_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

STDOUT = "-"


class TableName(StrEnum):
    """The tables of a stream."""

    events = "events"
    late = "late"
    rejected = "rejected"


Stream = Annotated[str, typer.Argument(metavar="STREAM", help="A stream, or one that INSERT INTO fills.")]
To = Annotated[
    str,
    typer.Option(
        "--to", metavar="FILE", help="The extension sets the format: .parquet, .csv, .json; - is JSON on stdout."
    ),
]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="The first event time to export.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="The first event time to leave out.")]
Which = Annotated[TableName, typer.Option("--table", help="Events, late events, or rejected records.")]


def export(
    context: typer.Context,
    stream: Stream,
    to: To,
    since: From = None,
    until: Until = None,
    table: Which = TableName.events,
    debug: Debug = False,
) -> None:
    """Write the events of a stream into one file, in the order of their time; memory does not grow with them."""
    with reported(debug=debug):
        kind = _kind(to)
        low, high = (None if text is None else _micros(text) for text in (since, until))
        if low is not None and high is not None and high <= low:
            raise error("BAD_VALUE", what="--until", found=f"'{until}'", expected=f"a time after --from, '{since}'")
        from presage.operations.export import Export, ExportRequest

        rows = 0
        found = Export(context.obj, ExportRequest(stream, table.value, low, high))
        with Progress(f"writing {to}"), _written(to) as target, _WRITERS[kind](target, found.schema) as write:
            for piece in found.pieces():
                write(piece)
                rows += piece.num_rows
        sys.stderr.write(f"{rows:,} rows of {stream}{'' if to == STDOUT else f' in {to}'}\n")


def _kind(to: str) -> str:
    kind = "json" if to == STDOUT else Path(to).suffix.lower().removeprefix(".")
    kind = {"jsonl": "json", "ndjson": "json"}.get(kind, kind)
    if kind not in _WRITERS:
        raise error("BAD_VALUE", what="the file to write", found=f"'{to}'", expected=".parquet, .csv or .json, or -")
    if to != STDOUT and Path(to).exists():
        raise error("FILE_EXISTS", path=to)
    return kind


def _micros(text: str) -> int:
    micros = parse_timestamp(text)
    if micros is None:
        raise error("BAD_TIMESTAMP", found=text)
    return micros


@contextmanager
def _written(to: str) -> Iterator[Path | None]:
    """A temporary file that gets its name when it is complete. None: stdout."""
    if to == STDOUT:
        yield None
        return
    path = Path(to)
    passing = path.with_name(f".{path.name}.part")
    try:
        yield passing
        os.replace(passing, path)
    except OSError as failure:
        raise error("FILE_UNWRITABLE", path=to, why=failure.strerror or str(failure)) from failure
    finally:
        if os.path.exists(passing):
            passing.unlink()


Write = Callable[["pa.Table"], None]


@contextmanager
def _parquet(target: Path | None, schema: pa.Schema) -> Iterator[Write]:
    import pyarrow.parquet as pq

    assert target is not None
    with pq.ParquetWriter(target, schema) as writer:
        yield writer.write_table


@contextmanager
def _csv(target: Path | None, schema: pa.Schema) -> Iterator[Write]:
    from presage.cli.formats import write_csv

    assert target is not None
    with target.open("w", encoding="utf-8", newline="") as file:
        write_csv(schema.empty_table(), out=file)
        yield lambda piece: write_csv(piece, header=False, out=file)


@contextmanager
def _json(target: Path | None, schema: pa.Schema) -> Iterator[Write]:
    from presage.cli.formats import write_json

    if target is None:
        yield write_json
        return
    with target.open("w", encoding="utf-8") as file:
        yield lambda piece: write_json(piece, file)


_WRITERS = {"parquet": _parquet, "csv": _csv, "json": _json}
