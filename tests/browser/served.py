"""A home in, the console of an engine on it out, on a free port of the loopback; it can be stopped and begun."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from presage import Engine
from presage.console.access import Access
from presage.console.app import make_app
from presage.console.gate import Gate
from presage.console.plans import Plan
from presage.console.server import server_of

TOKEN = "a-token-of-the-tests"
START = datetime(2024, 3, 1, 9, tzinfo=UTC)


class Served:
    """`engine` needs no Spark, but for RECALL: statements go on when they are drained."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._socket = _free()
        self.port = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.engine: Engine | None = None
        self.plans: list[Plan] = []

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()
        self._socket.close()

    def begin(self) -> None:
        self._serve(make_app(self.open_engine(), TOKEN, plans=self.plans))

    def open_engine(self) -> Engine:
        # Chunks of a few rows: a recall takes several turns.
        self.engine = Engine(home=self._home, live=False, driven=False, rows_per_chunk=20)
        return self.engine

    def begin_behind_gate(self, doing: str) -> Gate:
        """Listens, and has no engine yet."""
        gate = Gate(doing)
        self._serve(Access(gate, TOKEN))
        return gate

    def stop(self) -> None:
        self.leave()
        if self.engine is not None:
            self.engine.close()
            self.engine = None

    def leave(self) -> None:
        """Nobody listens any more; the engine stays."""
        self._server.should_exit = True
        self._thread.join()

    def _serve(self, app: Any) -> None:
        if self._socket.fileno() < 0:
            self._socket = _free(self.port)
        self._server = server_of(app)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def load(self, stream: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Events, the silence after them, and all statements taken on to there."""
        assert self.engine is not None
        rows = list(rows)
        self.engine.load(stream, rows)
        for deployment in list(self.engine.deployments.values()):
            if deployment.status.state == "running":
                deployment.drain()


def moment(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def _free(port: int = 0) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made
