"""What a file of events suggests in, the text of a declaration and remarks for a careful reader out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from presage.lang.identifiers import spell_name, spell_string
from presage.storage.suggestion import Suggestion

REASONS = 3
WIDE = 100  # characters of a declaration on one line


def named_after(path: Path) -> str:
    """A name for the stream of a file's events: the file's, as a word."""
    word = re.sub(r"\W+", "_", path.name if path.is_dir() else path.stem).strip("_")
    return f"events_{word}" if not word or word[0].isdigit() else word[0].upper() + word[1:]


def declaration(stream: str, found: Suggestion) -> str:
    columns = [f"{spell_name(attribute.name)} {attribute.type}" for attribute in found.attributes]
    nulls = f" WITH (nulls = {spell_string(', '.join(found.nulls))})" if found.nulls else ""
    end = f"EVENT TIME {spell_name(found.event_time)}{nulls};"
    line = f"CREATE STREAM {spell_name(stream)} ({', '.join(columns)}) {end}"
    if len(line) <= WIDE:
        return line
    listed = ",\n  ".join(columns)
    return f"CREATE STREAM {spell_name(stream)} (\n  {listed}\n) {end}"


def remarks(name: str, found: Suggestion) -> Iterator[str]:
    """How the rows of a file of this name fit, and what else could have been declared."""
    fit, rejected = found.checked.table.num_rows, found.checked.rejected
    lost = f", {len(rejected):,} row{'' if len(rejected) == 1 else 's'} would be rejected" if len(rejected) else ""
    yield f"{name}: {fit:,} event{'' if fit == 1 else 's'}{lost}"
    for origin, reason in list(zip(rejected.origins, rejected.reasons, strict=True))[:REASONS]:
        yield f"  {' '.join(f'{origin}: {reason}'.split())}"
    if len(rejected) > REASONS:
        yield f"  … and {len(rejected) - REASONS:,} more"
    for text, columns in found.nulls.items():
        yield f"'{text}' is read as null: {', '.join(f'{name} ({count:,})' for name, count in columns.items())}"
    if found.other_times:
        yield f"the event time could also be {' or '.join(found.other_times)}"
    if found.left_out:
        yield f"left out, as their values are of no type or of several: {', '.join(found.left_out)}"
