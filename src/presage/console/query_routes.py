"""Query routes: check, explain, query, execute, and the names of the catalog."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from presage.console.answers import all_as_json, as_json
from presage.console.rows import MOST_ROWS, table_as_json
from presage.engine import Engine
from presage.errors import PresageError, QueryWarning, error, located
from presage.execution.result import Result
from presage.functions.scalars import BY_NAME
from presage.lang import parse, print_statement
from presage.lang import syntax as s
from presage.lang.command_syntax import CreateStatement
from presage.lang.identifiers import RESERVED
from presage.model.text import Source
from presage.select.warnings import warnings_of

router = APIRouter(prefix="/api", tags=["queries"])


def engine_of(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


EngineDep = Annotated[Engine, Depends(engine_of)]


class Text(BaseModel):
    """Statements of the language; errors call the text by `name`."""

    text: str
    name: str = "query"


class Question(Text):
    limit: int = Field(1_000, ge=0, le=MOST_ROWS, description="The most rows that are sent.")


@router.post("/check")
def check(body: Text, engine: EngineDep) -> dict[str, Any]:
    """Every mistake in a text, and warnings if it has none, without executing it. What the engine has declared is
    known."""
    try:
        found = engine.check(body.text, body.name)
    except PresageError as problem:
        return {"errors": all_as_json(problem), "warnings": []}
    return {"errors": [], "warnings": [as_json(each) for each in found]}


@router.post("/explain")
def explain(body: Text, engine: EngineDep) -> dict[str, Any]:
    """How the last query of a text would be executed; `picture` is an SVG of its automata, null if it has none.
    Nothing of the text is executed: what it reads must be declared."""
    statement = _last_query(body)
    # As it was written: printed anew, brackets that tell what a guard covers would be gone.
    written = body.text[statement.span.start : statement.span.end]
    return {"text": engine.explain(written), "picture": _picture(engine, statement)}


@router.post("/selects")
def selects(body: Question, engine: EngineDep) -> list[dict[str, Any]]:
    """The entities that the PATHs of the last query of a text select, independent of events. Nothing of the
    text is executed: what it reads must be declared."""
    with located(Source(body.text, body.name)):
        return [asdict(each) for each in engine.browse.selects(_last_query(body), body.limit)]


def _last_query(body: Text) -> s.Query:
    script = parse(body.text, body.name)
    last = script.statements[-1] if script.statements else None
    query = last.statement if isinstance(last, s.Explain) else last
    query = query.query if isinstance(query, CreateStatement) else query
    if not isinstance(query, s.Query):
        raise error(
            "SYNTAX",
            last.span if last else None,
            script.source,
            found="no query",
            expected="a query",
            fix="EXPLAIN takes a SELECT",
        )
    return query


def _picture(engine: Engine, query: s.Query) -> str | None:
    try:
        return engine.explain(print_statement(s.Explain(query, "svg")))
    except PresageError as problem:
        if problem.code == "UNSUPPORTED":  # it has nothing to draw
            return None
        raise


@router.post("/query")
def query(body: Question, engine: EngineDep) -> dict[str, Any]:
    """The rows of the last query of a text over what has arrived; statements before it are executed."""
    return _as_json(engine.query(body.text, name=body.name), body.limit)


@router.post("/execute")
def execute(body: Question, engine: EngineDep) -> dict[str, Any]:
    """Execute every statement of a text in turn: for each the rows, or null where it has none."""
    outcomes = engine.run(body.text, body.name)
    rows = [None if o is None else _as_json(o, body.limit) for o in outcomes]
    warnings: list[QueryWarning] = []
    for statement in (script := parse(body.text, body.name)).statements:
        made = engine.deployments.get(statement.name) if isinstance(statement, CreateStatement) else None
        warnings += made.warnings if made is not None else warnings_of(statement, script.source)
    return {"results": rows, "warnings": [as_json(each) for each in warnings]}


def _as_json(result: Result, limit: int) -> dict[str, Any]:
    """The rows, with warnings."""
    told = {"remarks": list(result.remarks), "warnings": [as_json(each) for each in result.warnings]}
    return {**table_as_json(result.to_arrow(), limit), **told}


@router.get("/catalog")
def catalog(engine: EngineDep) -> dict[str, Any]:
    """The names that a query can use, for completion."""
    known = engine.catalog
    types = [
        {
            "name": t.name,
            "kind": t.kind,
            "attributes": [{"name": a.name, "type": str(a.type)} for a in t.attributes],
            "event_time": t.event_time,
            "uncertain": t.probabilistic is not None,
            "predicted": t.predicted is not None,
        }
        for t in known.types.values()
        if t.attributes
    ]
    relations = [
        {
            "name": r.name,
            "kind": "relation",
            "attributes": [{"name": a.name, "type": str(a.type)} for a in r.attributes],
        }
        for r in known.relations.values()
    ]
    return {
        "names": [*types, *relations],
        "models": list(known.models),
        "knowledge": list(known.knowledge),
        "statements": list(engine.deployments),
        "functions": sorted(BY_NAME),
        "words": sorted(RESERVED),
    }
