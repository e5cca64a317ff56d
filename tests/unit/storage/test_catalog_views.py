"""SHOW and DESCRIBE of probabilistic and predicted streams, and of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage.model.catalog import Catalog
from presage.storage import Log
from presage.storage.catalog_views import describe, show
from presage.workspace import Workspace

FLOOR = '{"states": ["hall"], "transition": [[1.0]], "emission": {"kind": "discrete", "table": {"hall": {"A": 0.5}}}}'
TEXT = """
CREATE STREAM Reading (person STRING, antenna STRING, at TIMESTAMP) EVENT TIME at KEY (person);
CREATE MODEL floor FROM 'floor.json';
CREATE MODEL unused FROM 'floor.json';
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
  FROM INFERENCE OVER Reading USING MODEL floor (PARTICLES 50);
CREATE STREAM Seen (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
  PROBABILISTIC MARKOV (place);
CREATE STREAM Gps (car STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x, y) WITH (threshold = 25, threshold.y = 0.5, period = '30 sec', buffer = 325, policy = 'oldest');
CREATE STREAM Temp (id INT, temp DOUBLE, at TIMESTAMP) EVENT TIME at KEY (id) PREDICTED (temp);
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Catalog, Log]]:
    (tmp_path / "floor.json").write_text(FLOOR)
    space = Workspace([tmp_path], tmp_path)
    space.check(TEXT)
    with Log.open() as log:
        for event_type in space.catalog.types.values():
            if event_type.kind == "stream":
                log.create_stream(event_type)
        yield space.catalog, log


def test_models_are_shown_with_their_file_and_their_users(home: tuple[Catalog, Log], tmp_path: Path) -> None:
    catalog, log = home
    path = str(tmp_path / "floor.json")
    columns, rows = show("models", catalog, log.archive)
    assert columns == ("name", "source", "streams")
    assert rows == [("floor", path, "At"), ("unused", path, "")]
    described = dict(describe("floor", catalog, log.archive, {})[1])
    assert described == {"kind": "model", "source": path, "characters": str(len(FLOOR)), "streams": "At"}


def test_a_stream_tells_what_is_uncertain_and_where_it_comes_from(home: tuple[Catalog, Log]) -> None:
    catalog, log = home
    at = dict(describe("At", catalog, log.archive, {})[1])
    assert at["probabilistic"] == "place; independent steps"
    assert at["inference"] == "over Reading, model floor, PARTICLES 50"
    assert at["attribute probability"] == "DOUBLE"
    seen = dict(describe("Seen", catalog, log.archive, {})[1])
    assert seen["probabilistic"] == "place; Markov"
    assert "inference" not in seen
    shown = {row[0]: row for row in show("streams", catalog, log.archive)[1]}
    assert (shown["At"][5], shown["Seen"][5]) == ("inference over Reading", "memory")


def test_a_stream_tells_what_is_predicted_how_well_and_for_how_long(home: tuple[Catalog, Log]) -> None:
    catalog, log = home
    gps = dict(describe("Gps", catalog, log.archive, {})[1])
    assert gps["predicted"] == "x ± 25, y ± 0.5; for at most 30 sec"
    assert gps["attribute x_rate"] == "DOUBLE"
    assert (gps["option buffer"], gps["option policy"]) == ("325", "oldest")
    assert "attribute x" not in gps
    assert dict(describe("Temp", catalog, log.archive, {})[1])["predicted"] == "temp ± 0"
    shown = {row[0]: row for row in show("streams", catalog, log.archive)[1]}
    assert "y_threshold DOUBLE" in shown["Gps"][2]
