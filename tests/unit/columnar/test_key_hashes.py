"""Hashes of keys: what is equal lies in one shard, and shards are of about one size."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from presage.arrays.equality import equality_codes
from presage.columnar.key_hashes import key_hashes

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
doubles = st.sampled_from([0.0, -0.0, math.nan, OTHER_NAN, -math.nan, math.inf, 1.5, None])
texts = st.sampled_from(["", "a", "ü", "u\u0308", "\x00", "😀", "nan", "None", None])
COLUMNS = {
    pa.float64(): doubles,
    pa.string(): texts,
    pa.int64(): st.sampled_from([0, -1, 2**63 - 1, None]),
    pa.int32(): st.sampled_from([0, -1, 2**31 - 1, None]),
    pa.bool_(): st.sampled_from([True, False, None]),
    pa.timestamp("us", tz="UTC"): st.sampled_from([datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)]),
    pa.null(): st.none(),
    pa.list_(pa.float64()): st.none() | st.lists(doubles, max_size=2),
    pa.struct([("x", pa.float64()), ("s", pa.string())]): st.none() | st.fixed_dictionaries({"x": doubles, "s": texts}),
    pa.map_(pa.string(), pa.float64()): st.none()
    | st.dictionaries(texts.filter(lambda text: text is not None), doubles, max_size=2).map(lambda d: list(d.items())),
}


@given(st.data())
def test_keys_have_equal_hashes_exactly_where_they_are_equal(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(COLUMNS)))
    values = data.draw(st.lists(COLUMNS[kind], max_size=8))
    half = len(values) // 2
    column = pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])
    codes, _ = equality_codes([column], len(values))
    hashes = key_hashes(column)
    assert hashes.dtype == np.uint64
    for i in range(len(values)):
        for j in range(i):
            assert (hashes[i] == hashes[j]) == (codes[i] == codes[j]), (values[i], values[j])


def test_a_column_without_chunks_has_no_hashes() -> None:
    for kind in COLUMNS:
        assert len(key_hashes(pa.chunked_array([], kind))) == 0


def test_hashes_are_the_same_in_another_process() -> None:
    program = (
        "import pyarrow as pa; from presage.columnar.key_hashes import key_hashes\n"
        "for keys in ['a', 'ü', None], [[0.5]]:\n"
        "    print(key_hashes(pa.chunked_array([keys])).tolist())"
    )
    here = key_hashes(pa.chunked_array([["a", "ü", None]])).tolist(), key_hashes(pa.chunked_array([[[0.5]]])).tolist()
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [str(hashes) for hashes in here]


def test_keys_that_follow_each_other_are_spread_evenly() -> None:
    for column in (pa.chunked_array([range(10_000)]), pa.chunked_array([[f"key-{i}" for i in range(10_000)]])):
        shards = np.bincount(((key_hashes(column) >> np.uint64(32)) % np.uint64(4)).astype(int))
        assert shards.min() > 2_200
