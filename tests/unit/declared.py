"""A small catalog, and queries bound against it: what the unit tests of binding, rules and plans share. No Spark."""

from __future__ import annotations

from presage.errors import PresageError
from presage.lang import parse
from presage.lang import syntax as s
from presage.plan.query import BoundQuery
from presage.workspace import Workspace

NOW = 1_709_283_600_000_000  # 2024-03-01T09:00:00Z
DECLARATIONS = """
CREATE SCHEMA CameraEvent (camera STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Motion (x DOUBLE, y DOUBLE, n INT) INHERITS CameraEvent;
CREATE STREAM Fault (log STRING, tags ARRAY<STRING>, spot STRUCT<room STRING, floor INT>, codes MAP<STRING, LONG>)
  INHERITS CameraEvent;
CREATE RELATION Place (camera STRING, floor INT) VALUES ('c1', 1), ('c2', 2);
"""


def workspace(more: str = "") -> Workspace:
    made = Workspace([], ".", now=lambda: NOW)
    made.check(DECLARATIONS + more)
    return made


def bind(text: str, more: str = "") -> BoundQuery:
    """The query, bound; `more` declares what it needs beyond the catalog."""
    (query,) = parse(text).statements
    assert isinstance(query, s.Query)
    return workspace(more).bind(query)


def refusals(text: str, more: str = "") -> list[PresageError]:
    """All errors of a text that stands after the declarations; none if it is right."""
    try:
        workspace(more).check(text, "query.epl")
    except PresageError as first:
        return [first, *first.others]
    return []
