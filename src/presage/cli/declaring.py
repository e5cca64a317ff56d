"""The name of a file of events in, a declaration on stdout out, and on stderr what to do with it."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from presage.cli.failures import reported
from presage.lang.words import spell_name
from presage.log.suggestion import Suggestion, suggest

REASONS = 3
WIDE = 100  # characters of a declaration on one line


def declare_events(path: Path, name: str | None = None, debug: bool = False) -> None:
    """Look at all rows, and print."""
    with reported(debug=debug):
        found = suggest(path.expanduser())
        stream = name or named_after(path)
        for line in _remarks(path, found):
            sys.stdout.write(f"-- {line}\n")
        sys.stdout.write(_declaration(stream, found) + "\n")
        load = shlex.quote(f"{stream}={path}")
        sys.stderr.write(f"Save it in a file, add a query, and run: presage query FILE.epl --events {load}\n")


def named_after(path: Path) -> str:
    """A name for the stream of a file's events: the file's, as a word."""
    word = re.sub(r"\W+", "_", path.resolve().stem if path.resolve().is_file() else path.resolve().name).strip("_")
    return f"events_{word}" if not word or word[0].isdigit() else word[0].upper() + word[1:]


def _declaration(stream: str, found: Suggestion) -> str:
    columns = [f"{spell_name(attribute.name)} {attribute.type}" for attribute in found.attributes]
    line = f"CREATE STREAM {spell_name(stream)} ({', '.join(columns)}) EVENT TIME {spell_name(found.event_time)};"
    if len(line) <= WIDE:
        return line
    listed = ",\n  ".join(columns)
    return f"CREATE STREAM {spell_name(stream)} (\n  {listed}\n) EVENT TIME {spell_name(found.event_time)};"


def _remarks(path: Path, found: Suggestion) -> Iterator[str]:
    """What a careful reader of the declaration should know of the file, as comments."""
    fit, rejected = found.checked.table.num_rows, found.checked.rejected
    lost = f", {len(rejected):,} row{'' if len(rejected) == 1 else 's'} would be rejected" if len(rejected) else ""
    yield f"{path.name}: {fit:,} event{'' if fit == 1 else 's'}{lost}"
    for origin, reason in list(zip(rejected.origins, rejected.reasons, strict=True))[:REASONS]:
        yield f"  {' '.join(f'{origin}: {reason}'.split())}"
    if len(rejected) > REASONS:
        yield f"  … and {len(rejected) - REASONS:,} more"
    if found.other_times:
        yield f"the event time could also be {' or '.join(found.other_times)}"
    if found.left_out:
        yield f"left out, as their values are of no type or of several: {', '.join(found.left_out)}"
