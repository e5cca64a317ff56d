"""The entry of the server: passes requests to the API, and until the engine is ready serves the page with the progress.

Loading Spark's libraries takes seconds and a file of statements may take minutes: whoever has the page open should see
that, and not a connection that is refused. So nothing here imports the engine.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from presage.console.answers import all_as_json
from presage.console.pages import PAGES, STATIC, page
from presage.errors import error

if TYPE_CHECKING:
    from presage.storage import Leader


class Gate:
    """`doing`: the step of the start, as text, or None. `app`: the API, once there is an engine. `leader`: the process
    that has the home, while the engine waits for it."""

    def __init__(self, doing: str = "the engine is loading") -> None:
        self.app: ASGIApp | None = None
        self.doing: str | None = doing
        self.leader: Leader | None = None
        self.about: dict[str, Any] = {}
        self._static = Starlette(
            routes=[Mount("/static", StaticFiles(directory=STATIC))], exception_handlers={HTTPException: _no_such_file}
        )

    def open(self, app: ASGIApp, **about: Any) -> None:
        """From now on `app` answers; `about` is told with the status."""
        self.about, self.app, self.leader = about, app, None

    def status(self) -> dict[str, Any]:
        if self.leader is not None:
            return {"state": "standby", "doing": f"{self.leader} has the home", "leader": asdict(self.leader)}
        return {"state": "starting" if self.app is None else "ready", "doing": self.doing, **self.about}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http":
            return
        if path in PAGES and scope["method"] in ("GET", "HEAD"):
            await HTMLResponse(page(PAGES[path]))(scope, receive, send)
        elif path.startswith("/static/"):
            await self._static(scope, receive, send)
        elif self.app is not None:
            await self.app(scope, receive, send)
        elif path == "/api/status":
            await JSONResponse(self.status())(scope, receive, send)
        else:
            starting = error("STARTING", doing=self.doing or "")
            problem = starting if self.leader is None else error("STANDING_BY", leader=self.leader)
            await JSONResponse({"errors": all_as_json(problem)}, 503, {"Retry-After": "1"})(scope, receive, send)


def _no_such_file(request: Request, failure: Exception) -> JSONResponse:
    problem = error("UNKNOWN_OBJECT", kind="file", name=request.url.path, fix="the console's page is at /")
    return JSONResponse({"errors": all_as_json(problem)}, 404)
