"""An engine in, the console as a web application out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from presage import __version__
from presage.console import asking, statements, streams
from presage.console.access import MOST_BYTES, Access
from presage.console.failures import add_failures
from presage.engine import Engine

STATIC = Path(__file__).parent / "static"
ABOUT = "Declare, deploy, ask and watch. Send the token as Authorization: Bearer …; errors have one shape."


def make_app(engine: Engine, token: str, hosts: Iterable[str] = (), most_bytes: int = MOST_BYTES) -> ASGIApp:
    """`hosts`: names under which it may be asked, beside those of the loopback."""
    # Its own pages of documentation would fetch scripts from elsewhere; ours is at /api.
    app = FastAPI(title="Presage", version=__version__, description=ABOUT, docs_url=None, redoc_url=None,
                  openapi_url="/api/openapi.json")  # fmt: skip
    app.state.engine = engine
    add_failures(app)
    for room in (asking, statements, streams):
        app.include_router(room.router)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/api", include_in_schema=False)
    def api_page() -> FileResponse:
        return FileResponse(STATIC / "api.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Access(app, token, hosts, most_bytes)
