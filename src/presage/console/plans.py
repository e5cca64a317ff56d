"""Floor plans under a map: rooms with their outlines, a picture with its bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from presage.errors import PresageError, did_you_mean, error

PICTURES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
FIELDS = ("streams", "image", "bounds", "rooms")
SHAPE = '{"rooms": [{"name": "Lab", "box": [0, 0, 20, 15]}], "image": "floor.svg", "bounds": [0, 0, 100, 60]}'


@dataclass(frozen=True)
class Room:
    """Its outline, corner by corner, in the units of the streams."""

    name: str
    outline: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plan:
    """`streams`: those that it lies under; all if it names none. `bounds` of the picture: left, bottom, right, top."""

    rooms: tuple[Room, ...]
    streams: tuple[str, ...] = ()
    picture: Path | None = None
    bounds: tuple[float, ...] = ()

    @property
    def kind(self) -> str:
        return "" if self.picture is None else PICTURES[self.picture.suffix.lower()]

    def lies_under(self, stream: str) -> bool:
        return not self.streams or stream in self.streams


def read_plan(file: str) -> Plan:
    """Reads a plan; errors name the file and the field."""
    path = Path(file)
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise error("FILE_NOT_FOUND", path=file, fix="--plan takes a file in JSON that describes a plan") from None
    except (OSError, ValueError) as failure:
        why = getattr(failure, "strerror", None) or str(failure)
        raise error("FILE_UNREADABLE", path=file, why=why, fix=f"write it in JSON, as {SHAPE}") from None
    if not isinstance(content, dict):
        raise _bad(file, "it", "no object", "an object")
    for name in content:
        if name not in FIELDS:
            fix = did_you_mean(name, list(FIELDS), f"write {SHAPE}")
            raise error("UNKNOWN_OPTION", name=name, owner=f"the plan '{file}'", fix=fix)
    plan = Plan(
        tuple(_room(file, i, room) for i, room in enumerate(_listed(file, "rooms", content.get("rooms", [])))),
        tuple(_text(file, "streams", name) for name in _listed(file, "streams", content.get("streams", []))),
        _picture(file, path.parent, content.get("image")),
        _numbers(file, "bounds", content["bounds"]) if "bounds" in content else (),
    )
    if not plan.rooms and plan.picture is None:
        raise _bad(file, "it", "empty", "rooms, or an image with its bounds")
    if plan.picture is not None and not plan.bounds:
        raise error(
            "MISSING_OPTION",
            name="bounds",
            owner=f"the image of the plan '{file}'",
            fix="say where it lies: [left, bottom, right, top] in the units of the stream",
        )
    return plan


def _room(file: str, number: int, room: Any) -> Room:
    what = f"rooms[{number}]"
    if not isinstance(room, dict) or not {"name"} < room.keys() <= {"name", "box", "outline"} or len(room) != 2:
        raise _bad(file, what, json.dumps(room)[:80], 'a name with a "box" or an "outline"')
    name = _text(file, f"{what}.name", room["name"])
    if "box" in room:
        left, bottom, right, top = _numbers(file, f"{what}.box", room["box"])
        return Room(name, ((left, bottom), (right, bottom), (right, top), (left, top)))
    corners = _listed(file, f"{what}.outline", room["outline"])
    if len(corners) < 3 or not all(isinstance(c, list) and len(c) == 2 and all(map(_is_number, c)) for c in corners):
        raise _bad(file, f"{what}.outline", json.dumps(corners)[:80], "three corners [x, y] or more")
    return Room(name, tuple((float(x), float(y)) for x, y in corners))


def _picture(file: str, folder: Path, name: Any) -> Path | None:
    if name is None:
        return None
    path = folder / _text(file, "image", name)
    if path.suffix.lower() not in PICTURES:
        raise _bad(file, "image", f"'{name}'", f"a file of one of these: {', '.join(PICTURES)}")
    if not path.is_file():
        raise error("FILE_NOT_FOUND", path=str(path), fix=f"put it beside '{file}', which names it")
    return path


def _numbers(file: str, what: str, value: Any) -> tuple[float, float, float, float]:
    if isinstance(value, list) and len(value) == 4 and all(map(_is_number, value)):
        left, bottom, right, top = map(float, value)
        if left < right and bottom < top:
            return left, bottom, right, top
    raise _bad(file, what, json.dumps(value)[:80], "[left, bottom, right, top] with left < right and bottom < top")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _listed(file: str, what: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise _bad(file, what, json.dumps(value)[:80], "a list")
    return value


def _text(file: str, what: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _bad(file, what, json.dumps(value)[:80], "a text")
    return value


def _bad(file: str, what: str, found: str, expected: str) -> PresageError:
    return error("BAD_VALUE", what=f"{what} of the plan '{file}'", found=found, expected=expected, fix=f"as in {SHAPE}")
