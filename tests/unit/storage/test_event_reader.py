"""Events of data files: texts as they are, or coded by the dictionaries that the files have."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from presage.model.catalog import Attribute, EventType
from presage.model.types import STRING, TIMESTAMP
from presage.storage import Log
from presage.storage.event_reader import read_events

S = EventType("S", "stream", (Attribute("x", STRING), Attribute("at", TIMESTAMP)), event_time="at")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    with Log.open(tmp_path_factory.mktemp("home"), durable=False) as log:
        log.create_stream(S)
        for texts in (["a", "b", None], ["c", "a", "b"]):
            log.append(S, [{"x": x, "at": f"2024-01-01T00:00:0{i}Z"} for i, x in enumerate(texts)])
        yield log


@pytest.mark.parametrize("bounds", [{}, {"after_seq": 2}, {"after_seq": 1, "up_to_seq": 4}, {"up_to_seq": 0}])
def test_coded_texts_are_the_same_texts(log: Log, bounds: dict[str, int]) -> None:
    files = log.archive.snapshot("S", **bounds)
    plain, coded = read_events(files, ["x"]), read_events(files, ["x"], {"x"})
    assert coded["x"].type == pa.dictionary(pa.int32(), pa.string())
    assert coded.to_pylist() == plain.to_pylist()
    assert coded.drop_columns(["x"]) == plain.drop_columns(["x"])
