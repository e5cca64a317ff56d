"""A declared relation -> its rows as an Arrow table."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pyarrow as pa

from presage.errors import error, placed
from presage.model.catalog import Relation
from presage.model.paths import ANYWHERE, Roots
from presage.model.text import Span
from presage.storage.columns import attributes_schema
from presage.storage.data_files import archived, data_writer
from presage.storage.files import read_files
from presage.storage.text_csv import read_nulls

MAX_ROWS = 1_000_000


def relation_table(relation: Relation, roots: Roots = ANYWHERE) -> pa.Table:
    """The rows of VALUES, or those of the file; a relation is small and must be right, so a bad row is an error."""
    schema = attributes_schema(relation.attributes)
    if relation.path is None:
        rows = relation.rows or ()
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        return pa.table(columns, schema=schema)
    nulls = read_nulls(relation.options.get("nulls"))
    checked = read_files(Path(relation.path), relation.attributes, roots=roots, nulls=nulls)
    if len(checked.rejected):
        raise error(
            "DATA_SHAPE",
            what=f"relation '{relation.name}'",
            found=f"{checked.rejected.origins[0]}: {checked.rejected.reasons[0]}",
            fix="mend the row; a relation takes all rows or none",
        )
    if checked.table.num_rows > MAX_ROWS:
        raise error(
            "LIMIT",
            what=f"relation '{relation.name}' with {checked.table.num_rows} rows",
            limit_name="rows of a relation",
            limit=MAX_ROWS,
            fix="declare it as a stream",
        )
    return checked.table


def refuse_other_rows(relation: Relation, kept: pa.Table, roots: Roots, span: Span) -> None:
    """A file that holds other rows than when the relation was declared: the relation goes on with those of then, and
    whoever declares it again must know."""
    with placed(span):
        now = relation_table(relation, roots)
    if relation.path is not None and not now.equals(kept):
        difference = f", and its file holds other rows now: {now.num_rows:,}, when it was declared {kept.num_rows:,}"
        fix = f"DROP RELATION {relation.name} first, which deletes no event; or CREATE RELATION IF NOT EXISTS"
        raise error("ALREADY_DECLARED", span, name=relation.name, kind="relation", difference=difference, fix=fix)


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
