"""Rows of files that are loaded into streams, by the declared formats, roots and null texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pyarrow as pa

from presage.lang import syntax as s
from presage.model.catalog import EventType
from presage.storage import SourceOffsets, attributes_with_offsets
from presage.storage.files import read_files
from presage.storage.ingest import Checked
from presage.storage.relations import refuse_other_rows
from presage.storage.text_csv import read_nulls
from presage.workspace import Workspace

Nulls = str | Sequence[str] | None


def read_path(
    workspace: Workspace,
    event_type: EventType,
    path: str | os.PathLike[str],
    source: SourceOffsets | None = None,
    nulls: Nulls = None,
) -> Checked:
    """The rows of a path that is loaded into a stream. `nulls`: texts that mean null, else as its option says."""
    attributes = event_type.attributes if source is None else attributes_with_offsets(event_type, source, None)
    texts = read_nulls(event_type.options.get("nulls") if nulls is None else nulls)
    found = workspace.allowed.resolve(os.fspath(path), workspace.base)
    return read_files(found, attributes, event_type.event_time, workspace.allowed, texts)


def refuse_other_file(workspace: Workspace, statement: s.Statement, relations: Mapping[str, pa.Table]) -> None:
    """A relation that is declared as it was, from a file that holds other rows by now, is not the same."""
    if isinstance(statement, s.CreateRelation) and not statement.if_not_exists:
        known = workspace.catalog.relations[statement.name]
        refuse_other_rows(known, relations[statement.name], workspace.allowed, statement.span)
