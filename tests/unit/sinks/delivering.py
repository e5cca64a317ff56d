"""A home with a deployed statement, its sinks stepped by hand, and targets of all kinds: no thread, no waiting."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from presage.lang import syntax as s
from presage.live.result_feed import ResultFeed
from presage.model.permissions import Permissions
from presage.sinks import Sinks
from presage.sinks.runner import SinkRunner
from presage.storage.failpoints import Failpoints
from recovery.crashing import MemoryDisk
from recovery.living import Living

TICK = "CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at"
ODD = "SELECT x FROM Tick WITHIN [2020-01-01T00:00, ) WHERE x % 2 = 1"


def events(first: int, count: int) -> list[dict[str, Any]]:
    return [{"x": x, "at": f"2024-01-01T00:{x // 60 % 60:02d}:{x % 60:02d}Z"} for x in range(first, first + count)]


# Servers of these tests are on the loopback.
ALLOWED = Permissions(["HOOK_TOKEN", "HOOK_URL", "JAAS"], ["localhost"])


class Delivering:
    """A statement 'odd' over the ticks, and sinks of it. Nothing runs by itself."""

    def __init__(
        self,
        folder: Path,
        disk: MemoryDisk | None = None,
        points: Failpoints | None = None,
        permissions: Permissions = ALLOWED,
        **more: Any,
    ) -> None:
        self.folder = folder
        job = {"subscribe": self._subscribe, **more.pop("job", {})}
        self.home = Living(folder / "home", disk, points, roots=[folder], **job)
        if "Tick" not in self.home.catalog.types:
            self.home.declare(TICK)
            self.home.deploy(ODD, "odd")
        self.home.workspace.permissions = permissions
        feed = ResultFeed(self.home.job, self.home.log.archive)
        self.sinks = Sinks(self.home.log, self.home.workspace, feed, threading.RLock(), **more)

    def _subscribe(self, *given: Any) -> Any:
        return self.sinks.subscribe(*given)

    def create(self, text: str) -> None:
        (statement,) = self.home.workspace.parse(text).statements
        assert isinstance(statement, s.CreateSink)
        self.sinks.create(statement)

    def load(self, first: int, count: int) -> None:
        self.home.load("Tick", events(first, count))
        self.home.drain()

    def running(self, name: str) -> SinkRunner:
        return self.sinks._running[name]

    def step(self, name: str) -> float | None:
        return self.running(name).round()

    def drain(self, name: str) -> None:
        """Until it has nothing to do, or waits."""
        self.running(name).hurry()
        while self.step(name) == 0.0:
            self.running(name).hurry()

    def expected(self, statement: str = "odd") -> list[tuple[str, int]]:
        """Ids and values of all rows of a statement that are kept."""
        live = self.home.deployments[statement]
        rows = enumerate(self.home.rows(statement), live.first_row)
        return [(f"{statement}/{live._number}/{i}", row["x"]) for i, row in rows]

    def die(self) -> None:
        """The system closes what the process had open, nothing else happens."""
        for running in self.sinks._running.values():
            if running._target is not None:
                running._target.close()
        self.home.die()

    def close(self) -> None:
        self.sinks.close()
        self.home.close()


def files(folder: Path) -> list[Path]:
    """What a reader of the folder sees, in order."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []


def in_files(folder: Path) -> list[tuple[str, int]]:
    rows = [row for path in files(folder) for row in pq.read_table(path).to_pylist()]
    return [(row["_id"], row["x"]) for row in rows]


class Server:
    """An HTTP server on the loopback that keeps what it is sent. `answers`: what it says next, 200 once they are used
    up; a row whose x is in `poison` is refused, with all that come with it."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.poison: set[int] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})
                status, headers = outer.answers.pop(0) if outer.answers else (200, {})
                if outer.poison & {row["x"] for row in body["rows"]}:
                    status = 422
                outer.requests[-1]["status"] = status
                text = b"no such thing" if status >= 300 else b"ok"
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alarm"

    def taken(self) -> list[tuple[str, int]]:
        """Rows of the requests that were answered well, in order."""
        good = [request["body"]["rows"] for request in self.requests if request["status"] == 200]
        return [(row["_id"], row["x"]) for rows in good for row in rows]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
