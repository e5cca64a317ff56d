"""Deployed statements over HTTP: deploy, show, stop, resume; their rows by number, or as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from presage.console.answers import as_json
from presage.console.query_routes import EngineDep
from presage.console.rows import MOST_ROWS, rows_as_json, table_as_json
from presage.live.deployment import Deployment
from presage.model.time import format_timestamp, to_micros

router = APIRouter(prefix="/api/statements", tags=["statements"])
# The poll interval of an event stream, and the interval of keep-alive comments: proxies close silent connections.
LOOK_SECONDS = 0.1
SILENT_SECONDS = 15.0
ROWS_AT_ONCE = 500
BATCHES_AT_ONCE = 100


class DeployRequest(BaseModel):
    """A query to deploy."""

    text: str
    name: str | None = None
    replace: bool = False


def shown(deployment: Deployment) -> dict[str, Any]:
    status = deployment.status
    figures = {key: status[key] for key in status.keys()}  # noqa: SIM118 (a status is no mapping)
    known = status.watermark
    figures["watermark"] = None if known is None else format_timestamp(to_micros(known))
    warnings = [as_json(each) for each in deployment.warnings]
    return {"name": deployment.name, "text": deployment.text, **figures, "warnings": warnings}


@router.get("")
def every(engine: EngineDep) -> list[dict[str, Any]]:
    """All statements of the home with their status."""
    return [shown(deployment) for deployment in engine.deployments.values()]


@router.post("", status_code=201)
def deploy(body: DeployRequest, engine: EngineDep) -> dict[str, Any]:
    """Deploy the last query of a text."""
    return shown(engine.deploy(body.text, body.name, replace=body.replace))


@router.get("/{name}")
def one(name: str, engine: EngineDep) -> dict[str, Any]:
    deployment = engine.deployments[name]
    columns = [{"name": column.name, "type": str(column.type)} for column in deployment.columns]
    return {**shown(deployment), "columns": columns, "explain": deployment.explain()}


@router.delete("/{name}")
def stop(name: str, engine: EngineDep) -> dict[str, Any]:
    """Stop a statement; its rows stay."""
    engine.deployments[name].stop()
    return shown(engine.deployments[name])


@router.post("/{name}/resume")
def resume(name: str, engine: EngineDep) -> dict[str, Any]:
    """Resume a failed statement."""
    engine.deployments[name].resume()
    return shown(engine.deployments[name])


@router.get("/{name}/rows")
def rows(
    name: str,
    engine: EngineDep,
    after: Annotated[int, Query(ge=0, description="How many of its first rows to leave out.")] = 0,
    limit: Annotated[int, Query(ge=0, le=MOST_ROWS)] = 1_000,
    last: Annotated[bool, Query(description="The last rows instead of the first.")] = False,
) -> dict[str, Any]:
    """Rows in the order in which they were emitted, from row number `after` on."""
    table = engine.deployments[name].table()
    first = max(after, table.num_rows - limit) if last else after
    return {**table_as_json(table.slice(first), limit), "first": first, "total": table.num_rows}


@router.get("/{name}/matches")
def matches(
    name: str,
    request: Request,
    engine: EngineDep,
    first: Annotated[int, Query(ge=0, description="The number of the first row that is body about.")] = 0,
) -> dict[str, Any]:
    """The events of the newest matches, by row number: for each the names of its variables with their times, or null
    where that cannot be told. `possible`: whether it can be told of any."""
    state = request.app.state
    found: dict[str, Any] = state.traces.of(engine.deployments[name], state.tails, first)
    return found


@router.get("/{name}/events")
async def events(
    name: str,
    request: Request,
    engine: EngineDep,
    after: Annotated[int | None, Query(ge=0, description="How many of its first rows to leave out.")] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Rows as they come, as server-sent events; each has its number as id, so that a line that was cut goes on where it
    was. Without `after` only new rows are sent."""
    deployment = await run_in_threadpool(lambda: engine.deployments[name])
    seen = int(last_event_id) + 1 if last_event_id is not None and last_event_id.isdigit() else after
    begin = deployment.status.rows_out if seen is None else seen
    return StreamingResponse(_events(deployment, begin, request), media_type="text/event-stream")


async def _events(deployment: Deployment, begin: int, request: Request) -> AsyncIterator[str]:
    columns = [column.name for column in deployment.columns]
    yield f"event: columns\ndata: {json.dumps(columns)}\n\n"
    sent, record, silent = begin, 0, 0.0
    while not await request.is_disconnected():
        sent = max(sent, deployment.first_row)
        if deployment.rows_out <= sent:
            await asyncio.sleep(LOOK_SECONDS)
            silent += LOOK_SECONDS
            if silent >= SILENT_SECONDS:
                silent = 0.0
                yield ": still here\n\n"
            continue
        silent = 0.0
        for found, first, rows in await run_in_threadpool(_made_since, deployment, record, sent):
            record, sent = found, max(sent, first)
            for begin_of_part in range(0, rows.num_rows, ROWS_AT_ONCE):
                part = rows.slice(begin_of_part, ROWS_AT_ONCE)
                sent += part.num_rows
                yield f"id: {sent - 1}\ndata: {json.dumps(rows_as_json(part), ensure_ascii=False)}\n\n"


def _made_since(deployment: Deployment, record: int, sent: int) -> list[tuple[int, int, pa.Table]]:
    return list(islice(deployment.after(record, sent), BATCHES_AT_ONCE))
