"""Predicted streams over HTTP: the positions of moving objects, for a map."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse

from presage.console.plans import Plan
from presage.console.query_routes import EngineDep
from presage.errors import error
from presage.model.catalog import EventType
from presage.model.time import MICROS, format_timestamp
from presage.plan.nodes import TIME

router = APIRouter(prefix="/api", tags=["streams"])
# Updates that are looked at; of each object the newest one counts.
MOST_UPDATES = 20_000


@router.get("/maps")
def maps(engine: EngineDep) -> list[dict[str, Any]]:
    """The streams that can be drawn: two predicted attributes are a place."""
    return [_described(t) for t in engine.catalog.types.values() if _is_map(t)]


@router.get("/maps/{name}")
def positions(name: str, engine: EngineDep, limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000) -> dict[str, Any]:
    """What each object told last: where it was then and how fast it goes, and the time of the newest update of all."""
    found = engine.catalog.types.get(name)
    if found is None or not _is_map(found):
        fix = "a map needs a stream with PREDICTED (x, y) and a KEY"
        raise error("UNKNOWN_OBJECT", kind="map", name=name, fix=fix)
    assert found.predicted is not None
    updates = engine.browse.newest(name, MOST_UPDATES)
    places = [found.predicted.columns_of(attribute) for attribute in found.predicted.attributes[:2]]
    named = list(zip(*(updates[key].to_pylist() for key in found.key), strict=True))
    objects: dict[tuple[Any, ...], dict[str, Any]] = {}
    columns = {name: updates[name].to_pylist() for place in places for name in place}
    times = updates[TIME].to_pylist()
    for i, key in enumerate(named):
        if key not in objects and len(objects) < limit and None not in (columns[place[0]][i] for place in places):
            told = [[columns[column][i] for column in place] for place in places]
            objects[key] = {
                "key": "/".join(map(str, key)),
                "at": format_timestamp(times[i]),
                "values": [value for value, _, _ in told],
                "rates": [rate or 0.0 for _, rate, _ in told],
                "thresholds": [
                    own if own is not None else usual
                    for (_, _, own), usual in zip(told, found.predicted.thresholds, strict=False)
                ],
            }
    newest = format_timestamp(max(times)) if times else None
    return {**_described(found), "now": newest, "objects": sorted(objects.values(), key=lambda each: each["key"])}


@router.get("/maps/{name}/plan")
def plan(name: str, request: Request) -> dict[str, Any]:
    """What lies under a map: rooms with their outlines, and a picture (`image` is its address) with its bounds."""
    found = _plan(name, request)
    if found is None:
        return {"rooms": [], "image": None, "bounds": None}
    rooms = [{"name": room.name, "outline": room.outline} for room in found.rooms]
    image = None if found.picture is None else f"/api/maps/{quote(name, safe='')}/plan/image"
    return {"rooms": rooms, "image": image, "bounds": found.bounds or None}


@router.get("/maps/{name}/plan/image", response_class=FileResponse)
def picture(name: str, request: Request) -> FileResponse:
    """The picture of a plan."""
    found = _plan(name, request)
    if found is None or found.picture is None or not found.picture.is_file():
        raise error("UNKNOWN_OBJECT", kind="picture of a plan", name=name, fix="give one with presage serve --plan")
    return FileResponse(found.picture, media_type=found.kind)


def _plan(name: str, request: Request) -> Plan | None:
    plans: tuple[Plan, ...] = request.app.state.plans
    return next((each for each in plans if each.lies_under(name)), None)


def _is_map(found: EventType) -> bool:
    return found.predicted is not None and len(found.predicted.attributes) >= 2 and bool(found.key)


def _described(found: EventType) -> dict[str, Any]:
    assert found.predicted is not None
    period = found.predicted.period
    return {
        "name": found.name,
        "attributes": list(found.predicted.attributes[:2]),
        "period": None if period is None else period / MICROS["sec"],
    }
