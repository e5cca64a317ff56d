"""Plans under maps: what is read of a file, what is refused, and what the API tells of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from presage import Engine
from presage.console.app import make_app
from presage.console.plans import read_plan
from presage.errors import PresageError

ROOM = {"name": "Lab", "box": [0, 0, 20, 15]}


def written(folder: Path, content: Any) -> str:
    (folder / "floor.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    path = folder / "plan.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_rooms_are_boxes_or_outlines(tmp_path: Path) -> None:
    hall = {"name": "Hall", "outline": [[0, 0], [5, 0], [0, 5.5]]}
    plan = read_plan(written(tmp_path, {"rooms": [ROOM, hall]}))
    lab, corner = plan.rooms
    assert lab.outline == ((0.0, 0.0), (20.0, 0.0), (20.0, 15.0), (0.0, 15.0))
    assert corner.outline[2] == (0.0, 5.5)
    assert plan.lies_under("Cart")


def test_a_plan_lies_under_the_streams_that_it_names(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, {"rooms": [ROOM], "streams": ["Cart"]}))
    assert plan.lies_under("Cart")
    assert not plan.lies_under("Gps")


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        ("{", "FILE_UNREADABLE", "plan.json"),
        ([], "BAD_VALUE", "it of the plan"),
        ({}, "BAD_VALUE", "empty"),
        ({"room": [ROOM]}, "UNKNOWN_OPTION", "'room'"),
        ({"rooms": ROOM}, "BAD_VALUE", "rooms of the plan"),
        ({"rooms": [{"name": "Lab"}]}, "BAD_VALUE", "rooms[0]"),
        ({"rooms": [{**ROOM, "box": [0, 0, 0, 15]}]}, "BAD_VALUE", "rooms[0].box"),
        ({"rooms": [{**ROOM, "box": [0, 0, 1e999, 15]}]}, "BAD_VALUE", "rooms[0].box"),
        ({"rooms": [{"name": "Lab", "outline": [[0, 0], [1, 1]]}]}, "BAD_VALUE", "rooms[0].outline"),
        ({"rooms": [{**ROOM, "name": 7}]}, "BAD_VALUE", "rooms[0].name"),
        ({"image": "floor.svg"}, "MISSING_OPTION", "bounds"),
        ({"image": "floor.pdf", "bounds": [0, 0, 1, 1]}, "BAD_VALUE", "image"),
        ({"image": "roof.svg", "bounds": [0, 0, 1, 1]}, "FILE_NOT_FOUND", "roof.svg"),
    ],
)
def test_a_plan_that_cannot_be_used_says_what_is_wrong_with_it(
    tmp_path: Path, content: Any, code: str, named: str
) -> None:
    with pytest.raises(PresageError) as refused:
        read_plan(written(tmp_path, content))
    assert refused.value.code == code
    assert named in refused.value.render()


def test_the_plan_of_the_guide_can_be_used(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs/guide/console.md").read_text()
    (shown,) = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert [room.name for room in read_plan(written(tmp_path, shown)).rooms] == ["Lab", "Hall"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PresageError, match=r"no\.json"):
        read_plan(str(tmp_path / "no.json"))


def test_the_api_tells_what_lies_under_a_map(tmp_path: Path) -> None:
    content = {"rooms": [ROOM], "image": "floor.svg", "bounds": [0, 0, 100, 60], "streams": ["Cart"]}
    plan = read_plan(written(tmp_path, content))
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        headers = {"Authorization": "Bearer t"}
        app = make_app(engine, "t", plans=[plan])
        client = TestClient(app, base_url="http://127.0.0.1:8765", headers=headers)
        told = client.get("/api/maps/Cart/plan").json()
        assert (told["image"], told["bounds"]) == ("/api/maps/Cart/plan/image", [0.0, 0.0, 100.0, 60.0])
        assert told["rooms"][0]["name"] == "Lab"
        picture = client.get(told["image"])
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
        assert client.get("/api/maps/Gps/plan").json() == {"rooms": [], "image": None, "bounds": None}
        assert client.get("/api/maps/Gps/plan/image").status_code == 404
        # A picture is no exception: who has no token sees nothing of the building.
        assert client.get(told["image"], headers={"Authorization": ""}).status_code == 401
