"""The rows of declared relations, and their copies in the home."""

from __future__ import annotations

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
from presage.storage.home import HomeLayout
from presage.storage.text_csv import read_nulls

MAX_ROWS = 1_000_000


def relation_table(relation: Relation, roots: Roots = ANYWHERE) -> pa.Table:
    """The rows of VALUES, or of the file. A relation takes all rows or none: a bad row is an error."""
    schema = attributes_schema(relation.attributes)
    if relation.path is None:
        rows = relation.rows or ()
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        return pa.table(columns, schema=schema)
    nulls = read_nulls(relation.options.get("nulls"))
    checked = read_files(Path(relation.path), relation.attributes, roots=roots, nulls=nulls)
    if len(checked.rejected):
        found = f"{checked.rejected.origins[0]}: {checked.rejected.reasons[0]}"
        fix = "mend the row; a relation takes all rows or none"
        raise error("DATA_SHAPE", what=f"relation '{relation.name}'", found=found, fix=fix)
    if checked.table.num_rows > MAX_ROWS:
        what, fix = f"relation '{relation.name}' with {checked.table.num_rows} rows", "declare it as a stream"
        raise error("LIMIT", what=what, limit_name="rows of a relation", limit=MAX_ROWS, fix=fix)
    return checked.table


def refuse_other_rows(relation: Relation, kept: pa.Table, roots: Roots, span: Span) -> None:
    """Refuse to declare a relation again if its file has changed: the relation still has the rows of its first
    declaration."""
    with placed(span):
        now = relation_table(relation, roots)
    if relation.path is not None and not now.equals(kept):
        difference = f", and its file holds other rows now: {now.num_rows:,}, when it was declared {kept.num_rows:,}"
        fix = f"DROP RELATION {relation.name} first, which deletes no event; or CREATE RELATION IF NOT EXISTS"
        raise error("ALREADY_DECLARED", span, name=relation.name, kind="relation", difference=difference, fix=fix)


def write_copy(home: HomeLayout, table: pa.Table) -> str:
    """Copy a relation's rows into the home; the path below it. A copy that no declaration names is harmless."""
    # A name may contain any character, a path must not.
    relative = f"relations/{uuid.uuid4().hex}.parquet"
    path = home.path / relative
    with home.store.writer(path) as sink, data_writer(sink, path.name, table.schema) as writer:
        writer.write_table(table)
    home.store.flush(path.parent)
    return relative


def read_copy(home: HomeLayout, relative: str) -> pa.Table:
    with archived(home.store.address(home.path / relative)) as file:
        return file.read()
