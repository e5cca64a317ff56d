"""The console of an engine as a web application."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from presage import __version__
from presage.console import alerts, files, knowledge_routes, positions, query_routes, statements, streams
from presage.console.access import MOST_BYTES, Access
from presage.console.failures import add_failures
from presage.console.gate import Gate
from presage.console.plans import Plan
from presage.console.tails import Tails, Traces
from presage.engine import Engine

ABOUT = "Declare, query, deploy and watch. Send the token as Authorization: Bearer …; errors have one shape."


def make_app(
    engine: Engine,
    token: str,
    hosts: Iterable[str] = (),
    most_bytes: int = MOST_BYTES,
    plans: Sequence[Plan] = (),
) -> ASGIApp:
    """The console of an engine that is there. `hosts`: accepted names beside the loopback's;
    `plans`: floor plans of its maps."""
    gate = Gate()
    open_gate(gate, engine, plans)
    gate.doing = None
    return Access(gate, token, hosts, most_bytes)


def open_gate(gate: Gate, engine: Engine, plans: Sequence[Plan] = ()) -> None:
    """Let the API of an engine answer behind a gate that is already listening."""
    # Its own pages of documentation would fetch scripts from elsewhere; ours is at /api.
    app = FastAPI(
        title="Presage",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.engine, app.state.tails, app.state.traces = engine, Tails(), Traces()
    app.state.plans = tuple(plans)
    add_failures(app)
    for routes in (query_routes, statements, streams, files, positions, alerts, knowledge_routes):
        app.include_router(routes.router)

    @app.get("/api/status", tags=["queries"])
    def status() -> dict[str, Any]:
        """Whether it is starting or ready, and what it still waits for."""
        return gate.status()

    gate.open(app, version=__version__, home=str(engine.home))
