"""The option `--events Stream=path`: loads files, and reports on stderr which events were not accepted."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from presage.cli.parameters import WrongUsageError
from presage.cli.progress import Progress
from presage.errors import did_you_mean, error
from presage.model.paths import local_path

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.storage import LoadReport

REASONS = 3


@dataclass(frozen=True)
class EventFile:
    """A file or folder whose events go into a stream."""

    stream: str
    path: Path


def parse_event_files(arguments: list[str]) -> list[EventFile]:
    """The options as the user gave them; one without a name or a path is wrong usage."""
    files = []
    for argument in arguments:
        stream, equals, path = argument.partition("=")
        if not (stream.strip() and equals and path.strip()):
            raise WrongUsageError(f"'{argument}' is not of the form STREAM=PATH", "--events")
        files.append(EventFile(stream.strip(), Path(path.strip()).expanduser()))
    return files


def check_event_files(files: list[EventFile], streams: list[str]) -> None:
    """Refuse, before any work is done, streams that nobody declares and files that are not there."""
    for file in files:
        if file.stream not in streams:
            fix = did_you_mean(file.stream, streams, "declare it with CREATE STREAM in the file")
            raise error("UNKNOWN_STREAM", name=file.stream, fix=fix)
        if not local_path(file.path, "a file of events").exists():
            raise error(
                "FILE_NOT_FOUND", path=file.path, fix=f"--events {file.stream}=… names it; paths start in {Path.cwd()}"
            )


def load_events(engine: Engine, file: EventFile) -> LoadReport:
    """Load one file and report what did not go in. A command that is repeated on a home loads the same file once."""
    with Progress(f"loading {file.path} into {file.stream}"):
        event_type = engine.catalog.types.get(file.stream)
        if event_type is None or event_type.kind != "stream":
            return engine.load(file.stream, [])  # raises the error about the name
        report = engine.load(file.stream, file.path, once=f"--events {_digest(file.path)}")
    if report.duplicate:
        sys.stderr.write(f"{file.stream}: the events of {file.path} were loaded before and are skipped\n")
        return report
    if report.late or report.rejected or report.ignored:
        for line in _account(engine, file, report):
            sys.stderr.write(line + "\n")
    return report


def _digest(path: Path) -> str:
    """A digest of the names and contents of the files."""
    from presage.model.paths import ANYWHERE
    from presage.storage.delta_folder import DeltaFolder, is_delta
    from presage.storage.files import bytes_of, files_of

    digest = hashlib.sha256()
    if is_delta(path):  # a compaction writes other files with the same rows
        digest.update("\n".join(DeltaFolder(path, ANYWHERE).rows_since()).encode())
        return digest.hexdigest()
    for file in files_of(path):
        digest.update(f"{file.name}\n{file.stat().st_size}\n".encode())
        digest.update(bytes_of(file))
    return digest.hexdigest()


def _account(engine: Engine, file: EventFile, report: LoadReport) -> list[str]:
    lines = [
        f"{file.stream}: {report.accepted:,} accepted, {report.late:,} late, {report.rejected:,} rejected ({file.path})"
    ]
    if report.rejected:
        lines += [f"  {origin}: {reason}" for origin, reason in _rejected(engine, file, report)[:REASONS]]
        if report.rejected > REASONS:
            lines.append(f"  … and {report.rejected - REASONS:,} more")
    if report.ignored:
        names = ", ".join(f"{name} ({count:,})" for name, count in sorted(report.ignored.items()))
        lines.append(f"  ignored attributes: {names}")
    return lines


def _rejected(engine: Engine, file: EventFile, report: LoadReport) -> list[tuple[str, str]]:
    """Origin and reason of the rows that this load rejected: the last ones of the table."""
    table = engine.rejected(file.stream)
    table = table.slice(max(0, table.num_rows - report.rejected)).select(["origin", "reason"])
    return [(row["origin"], row["reason"]) for row in table.to_pylist()]
