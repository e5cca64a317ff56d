"""Alerts over HTTP: events of a statement that met their history, with every revision of what was told of them."""

from __future__ import annotations

from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Query, Request

from presage.console.query_routes import EngineDep
from presage.console.rows import table_as_json
from presage.console.streams import listed
from presage.console.tails import Tails
from presage.errors import error
from presage.live.deployment import Deployment

router = APIRouter(prefix="/api", tags=["alerts"])
EVENT = "event_id"


@router.get("/alerts")
def newest(
    engine: EngineDep, request: Request, limit: Annotated[int, Query(ge=1, le=1_000)] = 50
) -> list[dict[str, Any]]:
    """The newest events with a RECALL, of all statements, with their last revision."""
    found: list[dict[str, Any]] = []
    for deployment in engine.deployments.values():
        if _recalls(deployment):
            found += _events(deployment.name, _tails(request).of(deployment), limit)
    return sorted(found, key=lambda each: str(each["at"]), reverse=True)[:limit]


@router.get("/statements/{name}/alert")
def one(name: str, event: str, engine: EngineDep, request: Request) -> dict[str, Any]:
    """All rows that a statement has made for an event, in their order, and its recall if that is still open."""
    deployment = engine.deployments[name]
    rows = _of_event(_tails(request).of(deployment), event) if _recalls(deployment) else None
    if rows is not None and not rows.num_rows:
        rows = _of_event(deployment.table(), event)  # older than the rows that are kept
    if rows is None or not rows.num_rows:
        fix = "GET /api/alerts lists the newest ones"
        raise error("UNKNOWN_OBJECT", kind=f"event of '{name}'", name=event, fix=fix)
    status = deployment.status
    # Only then: listing open recalls waits for the running batch.
    some = status.recalls_ready + status.recalls_suspended > 0
    open_ones = [
        each
        for each in (listed(engine, "RECALLS") if some else [])
        if (each["statement"], each[EVENT]) == (name, event)
    ]
    return {"statement": name, "event": event, **table_as_json(rows), "recall": open_ones[0] if open_ones else None}


def _recalls(deployment: Deployment) -> bool:
    return EVENT in {column.name for column in deployment.columns}


def _tails(request: Request) -> Tails:
    tails: Tails = request.app.state.tails
    return tails


def _of_event(table: pa.Table, event: str) -> pa.Table:
    return table.filter(pc.equal(table[EVENT], event))


def _events(name: str, table: pa.Table, limit: int) -> list[dict[str, Any]]:
    """The events of the last rows, each with its last row."""
    rows = table_as_json(table.slice(max(0, table.num_rows - 20 * limit)))
    names = [column["name"] for column in rows["columns"]]
    found: dict[str, dict[str, Any]] = {}
    for row in rows["rows"]:
        values = dict(zip(names, row, strict=True))
        event = values.get(EVENT)
        if event is not None:
            told = {"statement": name, EVENT: event, "at": values.get("at"), "revision": values.get("revision")}
            found.pop(event, None)
            found[event] = {**told, "row": values}
    return list(found.values())[-limit:]
