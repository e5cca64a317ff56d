"""Knowledge routes: the entities of a knowledge base, the answers of a statement's PATHs, and why-not of events."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from presage.columnar.reasons import Bound, Chance
from presage.console.query_routes import EngineDep
from presage.console.rows import rows_as_json
from presage.errors import error
from presage.live.why_not_conditions import ConditionReport
from presage.model.time import format_timestamp, to_micros
from presage.plan.nodes import SEQ, TIME

router = APIRouter(prefix="/api", tags=["knowledge"])
Most = Annotated[int, Query(ge=1, le=1_000, description="The most that are sent.")]


@router.get("/knowledge")
def bases(engine: EngineDep) -> list[dict[str, Any]]:
    """The knowledge bases, with their files; all of them form one graph."""
    known = engine.catalog.knowledge.values()
    return [{"name": base.name, "files": list(base.paths), "reasoning": base.reasoning} for base in known]


@router.get("/knowledge/things")
def find(engine: EngineDep, text: Annotated[str, Query(min_length=1, max_length=200)], limit: Most = 50) -> list[str]:
    """Entities whose names contain a text."""
    return engine.browse.knowledge.find(text, limit)


@router.get("/knowledge/thing")
def about(engine: EngineDep, iri: str, limit: Most = 200) -> dict[str, Any]:
    """The facts about an entity, with those that the rules infer."""
    return asdict(engine.browse.knowledge.about(iri, limit))


@router.get("/statements/{name}/selects")
def selects(name: str, engine: EngineDep, limit: Most = 200) -> list[dict[str, Any]]:
    """The entities that the PATHs of a statement select, independent of events."""
    return [asdict(each) for each in engine.deployments[name].selects(limit)]


@router.get("/statements/{name}/why")
def why(name: str, engine: EngineDep, limit: Most = 20) -> dict[str, Any]:
    """The newest events of a statement's streams, and for each what keeps it from making a row, as far as that can be
    said of one event alone."""
    watermark = engine.deployments[name].status.watermark
    known = None if watermark is None else format_timestamp(to_micros(watermark))
    return {"watermark": known, "streams": [_shown(each) for each in engine.deployments[name].why(limit)]}


@router.get("/statements/{name}/why/{number}")
def why_event(name: str, number: int, engine: EngineDep) -> dict[str, Any]:
    """What one event met in the patterns and sequences of a statement: for each place that it could have taken, the
    events of the match so far, and which condition failed with which values. `number` is that of its arrival."""
    found = engine.browse.event(number)
    if found is None:
        raise error("UNKNOWN_OBJECT", kind="event", name=number, fix=f"GET /api/statements/{name}/why lists the newest")
    stream, events = found
    values = events.drop_columns([SEQ, TIME])
    (row,) = rows_as_json(values) if values.num_columns else ([],)
    at = format_timestamp(events[TIME][0].as_py())
    reasons = engine.deployments[name].why_event(number)
    told = [{**asdict(each), "chances": [_chance(chance) for chance in each.chances]} for each in reasons]
    return {"stream": stream, "at": at, "values": dict(zip(values.column_names, row, strict=True)), "told": told}


def _chance(chance: Chance) -> dict[str, Any]:
    return {**asdict(chance), "so_far": [_bound(bound) for bound in chance.so_far]}


def _bound(bound: Bound) -> dict[str, Any]:
    return {"name": bound.name, "at": format_timestamp(bound.time), "values": bound.values}


def _shown(found: ConditionReport) -> dict[str, Any]:
    times = [format_timestamp(time) for time in found.events[TIME].to_pylist()]
    values = found.events.drop_columns([TIME])
    rows = rows_as_json(values) if values.num_columns else [[] for _ in times]
    events = [
        {
            "number": found.numbers[i],
            "at": times[i],
            "values": rows[i],
            "holds": [column[i] for column in found.holds],
            "unknown": found.unknown[i],
            "verdict": found.verdicts[i],
        }
        for i in range(len(times))
    ]
    told = {"stream": found.stream, "of": found.of, "columns": values.column_names}
    return {**told, "conditions": found.conditions, "events": events}
