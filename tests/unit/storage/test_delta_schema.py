"""Schemas as Delta's JSON: as delta-rs writes and reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given
from hypothesis import strategies as st

from presage.model.arrow import to_arrow
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf, MapOf, StructOf
from presage.storage.delta import CONFIGURATION
from presage.storage.delta_log import creation, entry_path
from presage.storage.delta_schema import from_delta, to_delta

SCALARS = st.sampled_from([STRING, INT, LONG, DOUBLE, BOOLEAN, TIMESTAMP])
TYPES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(ArrayOf),
        st.tuples(SCALARS, inner).map(lambda pair: MapOf(*pair)),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda types: StructOf(tuple((f"f{i}", each) for i, each in enumerate(types)))
        ),
    ),
    max_leaves=5,
)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=5)


@given(columns=st.dictionaries(NAMES, st.tuples(TYPES, st.booleans()), min_size=1, max_size=4))
def test_a_schema_is_written_and_read_as_by_delta_rs(columns: dict[str, tuple[object, bool]]) -> None:
    schema = pa.schema([pa.field(name, to_arrow(type_), null) for name, (type_, null) in columns.items()])  # type: ignore[arg-type]
    text = to_delta(schema)
    theirs = Schema.from_arrow(schema)
    assert json.loads(text) == json.loads(theirs.to_json())
    assert from_delta(text) == pa.schema(Schema.from_json(text).to_arrow())


@pytest.mark.parametrize("kind", [pa.null(), pa.binary(), pa.float32(), pa.int16(), pa.int8(), pa.date32()])
def test_types_of_columns_that_the_language_has_not_are_kept(kind: pa.DataType) -> None:
    schema = pa.schema([("x", kind)])
    assert json.loads(to_delta(schema)) == json.loads(Schema.from_arrow(schema).to_json())
    assert from_delta(to_delta(schema)) == schema


def test_delta_rs_reads_a_table_that_was_created_without_it(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    schema = pa.schema([("_seq", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string()))])
    first = entry_path(folder, 0)
    first.parent.mkdir(parents=True)
    first.write_bytes(creation(to_delta(schema), CONFIGURATION, "a home/1/S/events", 0))
    table = DeltaTable(str(folder))
    assert (table.version(), table.file_uris(), table.metadata().configuration) == (0, [], CONFIGURATION)
    assert pa.schema(table.schema().to_arrow()) == from_delta(to_delta(schema))
    protocol = table.protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
