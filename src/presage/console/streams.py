"""Streams, sources and recalls over HTTP: how they are, events for them, what users say of recalls."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from presage.console.query_routes import EngineDep
from presage.console.rows import table_as_json
from presage.engine import Engine
from presage.lang.printer import print_statement
from presage.lang.recall_syntax import RecallCommand

router = APIRouter(prefix="/api", tags=["streams"])


class Events(BaseModel):
    """Events of a stream; a call that is repeated with the same `once` changes nothing."""

    rows: list[dict[str, Any]]
    once: str | None = None


class Action(StrEnum):
    accelerate = "accelerate"
    cancel = "cancel"
    proceed = "continue"


def listed(engine: Engine, what: str) -> list[dict[str, Any]]:
    """The rows of SHOW as objects."""
    found = engine.execute(f"SHOW {what}")
    assert found is not None
    table = table_as_json(found.to_arrow())
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


@router.get("/streams")
def streams(engine: EngineDep) -> list[dict[str, Any]]:
    """All streams: events, late and rejected ones, watermark, source."""
    return listed(engine, "STREAMS")


@router.post("/streams/{name}/events", status_code=201)
def load(name: str, body: Events, engine: EngineDep) -> dict[str, Any]:
    """Append events; they are durable when this answers. How many were accepted, late, rejected."""
    return asdict(engine.load(name, body.rows, body.once))


@router.get("/streams/{name}/rejected")
def rejected(name: str, engine: EngineDep) -> dict[str, Any]:
    """Records that were not loaded, with the reason of each."""
    return table_as_json(engine.rejected(name))


@router.get("/sources")
def sources(engine: EngineDep) -> list[dict[str, Any]]:
    return [asdict(status) for status in engine.sources.values()]


@router.get("/recalls")
def recalls(engine: EngineDep) -> list[dict[str, Any]]:
    """Events that wait for more of their history."""
    statuses = [deployment.status for deployment in engine.deployments.values()]
    if not any(status.recalls_ready + status.recalls_suspended for status in statuses):
        return []  # listing open recalls waits for the running batch
    return listed(engine, "RECALLS")


class Recalled(BaseModel):
    """An event as SHOW RECALLS names it, and its statement."""

    event_id: str
    statement: str | None = None


@router.post("/recalls/{action}")
def say(action: Action, body: Recalled, engine: EngineDep) -> dict[str, Any]:
    """Accelerate, resume or cancel the RECALL of an event."""
    engine.execute(print_statement(RecallCommand(action.value, body.event_id, body.statement)))
    return {"said": action.value}
