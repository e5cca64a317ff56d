"""Names and types of the columns that a query yields, with SQL's null logic in the types."""

from __future__ import annotations

import pytest

from presage.model import types as t
from presage.model.types import ArrayOf, StructOf
from unit.declared import bind

NAMES = {
    "SELECT camera, x FROM Motion": ["camera", "x", "at"],
    "SELECT m.camera FROM Motion AS m": ["camera", "at"],
    "SELECT x + y FROM Motion": ["x + y", "at"],
    "SELECT count(*) FROM Motion": ["count(*)", "at"],
    "SELECT f.spot.room, tags[0] FROM Fault AS f": ["room", "tags[0]", "at"],
    "SELECT * FROM Motion": ["camera", "at", "x", "y", "n"],
    "SELECT *, count(*) AS c FROM Motion": ["camera", "at", "x", "y", "n", "c"],
    "SELECT a.camera, b.camera FROM Motion AS a, Fault AS b": ["a.camera", "b.camera", "at"],
    "SELECT a.camera, b.camera AS camera2 FROM Motion AS a, Fault AS b": ["camera", "camera2", "at"],
    "SELECT * FROM Motion AS a, Fault AS b": ["a", "b", "at"],
    "SELECT a.*, b.log FROM Motion AS a, Fault AS b": ["camera", "at", "x", "y", "n", "log"],
    "SELECT a.*, b.* FROM Motion AS a, Place AS b": ["a.camera", "at", "x", "y", "n", "b.camera", "floor"],
    "SELECT m FROM Motion AS m": ["m", "at"],
    "SELECT at AS time FROM Motion": ["time", "at"],
    "SELECT x AS AT FROM Motion": ["AT"],
    "SELECT x AS X1, y AS x1 FROM Motion": ["X1", "x1", "at"],
    "SELECT x AS `odd name` FROM Motion": ["odd name", "at"],
    "SELECT * FROM Event": ["at"],
}


@pytest.mark.parametrize("text", NAMES)
def test_columns_have_the_names_that_the_user_expects(text: str) -> None:
    query = bind(text)
    assert [c.name for c in query.columns] == NAMES[text]
    assert [c.name for c in query.plan.columns] == NAMES[text]


SPOT = StructOf((("room", t.STRING), ("floor", t.INT)))
TYPES = {
    "n + 1": t.INT,
    "n + 4000000000": t.LONG,
    "n + x": t.DOUBLE,
    "n / 2": t.DOUBLE,
    "n % 2": t.INT,
    "n + NULL": t.INT,
    "NULL + NULL": t.DOUBLE,
    "-NULL": t.DOUBLE,
    "NULL": t.NULL,
    "NULL = NULL": t.BOOLEAN,
    "NULL AND x > 1": t.BOOLEAN,
    "x IN (1, NULL)": t.BOOLEAN,
    "camera || NULL": t.STRING,
    "at - at": t.DOUBLE,
    "at - '2024-03-01'": t.DOUBLE,
    "at + 5 sec": t.TIMESTAMP,
    "5 sec + at": t.TIMESTAMP,
    "5 sec": t.DOUBLE,
    "CASE WHEN x > 1 THEN 1 ELSE 2.5 END": t.DOUBLE,
    "CASE WHEN x > 1 THEN 1 END": t.INT,
    "CASE WHEN x > 1 THEN NULL END": t.NULL,
    "CASE n WHEN 1 THEN at ELSE '2024-03-01' END": t.TIMESTAMP,
    "CAST(x AS INT)": t.INT,
    "CAST(NULL AS STRUCT<room STRING, floor INT>)": SPOT,
    "coalesce(n, x)": t.DOUBLE,
    "Place(camera, _)": t.BOOLEAN,
    "2147483647": t.INT,
    "2147483648": t.LONG,
    "-2147483648": t.LONG,
    "1.5": t.DOUBLE,
    "'a'": t.STRING,
    "TRUE": t.BOOLEAN,
}


@pytest.mark.parametrize("written", TYPES)
def test_the_type_of_a_term(written: str) -> None:
    assert bind(f"SELECT {written} AS c FROM Motion").columns[0].type == TYPES[written]


NESTED = {
    "spot": SPOT,
    "spot.floor": t.INT,
    "tags": ArrayOf(t.STRING),
    "tags[n0]": t.STRING,
    "tags.firstOf()": t.STRING,
    "tags.LASTOF()": t.STRING,
    "codes['a']": t.LONG,
    "f.spot.room": t.STRING,
}


@pytest.mark.parametrize("written", NESTED)
def test_the_type_of_a_nested_access(written: str) -> None:
    text = f"SELECT {written.replace('n0', '0')} AS c FROM Fault AS f"
    assert bind(text).columns[0].type == NESTED[written]


def test_a_duration_beside_numbers_is_a_number_of_seconds() -> None:
    plan = bind("SELECT x FROM Motion WHERE at - '2024-03-01' IN (5 sec, 1 min) AND x < 1500 msec").plan
    label = next(n.label() for n in plan.walk() if "IN" in n.label())
    assert label.endswith("IN (5.0, 60.0) AND Motion.x < 1.5")


def test_a_text_beside_a_time_is_a_time_on_either_side() -> None:
    plan = bind("SELECT x FROM Motion WHERE '2024-03-01' IN (at) AND '2024-03-01' < at").plan
    label = next(n.label() for n in plan.walk() if "IN" in n.label())
    assert label == "Filter '2024-03-01T00:00:00Z' IN (Motion.at) AND '2024-03-01T00:00:00Z' < Motion.at"
