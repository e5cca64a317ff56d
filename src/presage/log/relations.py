"""A declared relation -> its rows as an Arrow table."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pyarrow as pa

from presage.errors import error
from presage.log.columns import attributes_schema
from presage.log.data_files import archived, data_writer
from presage.log.files import read_files
from presage.model.catalog import Relation

MAX_ROWS = 1_000_000


def relation_table(relation: Relation) -> pa.Table:
    """The rows of VALUES, or those of the file; a relation is small and must be right, so a bad row is an error."""
    schema = attributes_schema(relation.attributes)
    if relation.path is None:
        rows = relation.rows or ()
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        return pa.table(columns, schema=schema)
    checked = read_files(Path(relation.path), relation.attributes)
    if len(checked.rejected):
        raise error(
            "DATA_SHAPE",
            what=f"relation '{relation.name}'",
            found=f"{checked.rejected.origins[0]}: {checked.rejected.reasons[0]}",
            fix="mend the row; a relation takes all rows or none",
        )
    if checked.table.num_rows > MAX_ROWS:
        raise error(
            "LIMIT", what=f"relation '{relation.name}' with {checked.table.num_rows} rows",
            limit_name="rows of a relation", limit=MAX_ROWS, fix="declare it as a stream",
        )  # fmt: skip
    return checked.table


def write_copy(home: Path, table: pa.Table) -> str:
    """Keep a relation's rows in the home; the copy's path below it. A copy that no declaration names is harmless."""
    # Not by the relation's name: a name may hold any character, a path must not.
    relative = f"relations/{uuid.uuid4().hex}.parquet"
    path = home / relative
    path.parent.mkdir(exist_ok=True)
    with path.open("x+b") as sink:
        with data_writer(sink, table.schema) as writer:
            writer.write_table(table)
        sink.flush()
        os.fsync(sink.fileno())
    return relative


def read_copy(home: Path, relative: str) -> pa.Table:
    with archived(home / relative) as file:
        return file.read()
