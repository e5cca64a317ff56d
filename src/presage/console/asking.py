"""Texts in, what the engine makes of them out: check, explain, query, execute; and what there is to speak of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from presage.analyze.function_table import BY_NAME
from presage.console.answers import all_as_json
from presage.console.rows import MOST_ROWS, table_as_json
from presage.engine import Engine
from presage.errors import PresageError, error, located
from presage.lang import parse, print_statement
from presage.lang import syntax as s
from presage.lang.acting_syntax import CreateStatement
from presage.lang.words import RESERVED
from presage.model.text import Source

router = APIRouter(prefix="/api", tags=["asking"])


def engine_of(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


Asked = Annotated[Engine, Depends(engine_of)]


class Text(BaseModel):
    """Statements of the language; errors call the text by `name`."""

    text: str
    name: str = "query"


class Question(Text):
    limit: int = Field(1_000, ge=0, le=MOST_ROWS, description="The most rows that are sent.")


@router.post("/check")
def check(asked: Text, engine: Asked) -> dict[str, Any]:
    """Every mistake in a text, without carrying it out. What the engine has declared is known."""
    try:
        engine.check(asked.text, asked.name)
    except PresageError as problem:
        return {"errors": all_as_json(problem)}
    return {"errors": []}


@router.post("/explain")
def explain(asked: Text, engine: Asked) -> dict[str, Any]:
    """How the last query of a text would be carried out; `picture` is an SVG of its automata, null if it has none.
    Nothing of the text is carried out: what it reads must be declared."""
    statement = _last_query(asked)
    return {"text": engine.explain(print_statement(statement)), "picture": _picture(engine, statement)}


@router.post("/selects")
def selects(asked: Question, engine: Asked) -> list[dict[str, Any]]:
    """Which things the PATHs of the last query of a text select, whatever events come. Nothing of the text is carried
    out: what it reads must be declared."""
    with located(Source(asked.text, asked.name)):
        return [asdict(each) for each in engine.browse.selects(_last_query(asked), asked.limit)]


def _last_query(asked: Text) -> s.Query:
    script = parse(asked.text, asked.name)
    last = script.statements[-1] if script.statements else None
    query = last.statement if isinstance(last, s.Explain) else last
    query = query.query if isinstance(query, CreateStatement) else query
    if not isinstance(query, s.Query):
        raise error("SYNTAX", last.span if last else None, script.source, found="no query", expected="a query",
                    fix="EXPLAIN takes a SELECT")  # fmt: skip
    return query


def _picture(engine: Engine, query: s.Query) -> str | None:
    try:
        return engine.explain(print_statement(s.Explain(query, "svg")))
    except PresageError as problem:
        if problem.code == "UNSUPPORTED":  # it has nothing to draw
            return None
        raise


@router.post("/query")
def query(asked: Question, engine: Asked) -> dict[str, Any]:
    """The rows of the last query of a text over what has arrived; statements before it are carried out."""
    return table_as_json(engine.query(asked.text, name=asked.name).to_arrow(), asked.limit)


@router.post("/execute")
def execute(asked: Question, engine: Asked) -> dict[str, Any]:
    """Carry out every statement of a text in turn: for each the rows, or null where it has none."""
    outcomes = engine.run(asked.text, asked.name)
    return {"results": [None if o is None else table_as_json(o.to_arrow(), asked.limit) for o in outcomes]}


@router.get("/catalog")
def catalog(engine: Asked) -> dict[str, Any]:
    """What a query can speak of: for the completion of names."""
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
