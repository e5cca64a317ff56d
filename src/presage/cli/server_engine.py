"""The engine of `presage serve`, opened in the background while the server already answers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage.console.gate import Gate
from presage.console.plans import Plan
from presage.errors import error

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.storage import Leader, Standby

Text = tuple[str, str]  # name, and what is in it


class Opening:
    """Opens an engine in a thread of its own while the server already answers; `close` waits for it and closes it.

    `texts` are executed in turn; on an error `failure` is set and `ended` called. `allowed`: `allow_env` and
    `allow_hosts` of the engine.
    """

    def __init__(
        self,
        gate: Gate,
        home: Path | None,
        texts: list[Text],
        ended: Callable[[], None],
        plans: Sequence[Plan] = (),
        allowed: Mapping[str, Any] | None = None,
    ) -> None:
        self._allowed = allowed or {}
        self._gate, self._home, self._texts, self._ended, self._plans = gate, home, texts, ended, plans
        self._leaving = threading.Event()
        self._standby: Standby | None = None
        self.engine: Engine | None = None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._open, name="presage-opening", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._leaving.set()
        if self._standby is not None:
            self._standby.cancel()
        self._thread.join()
        if self.engine is not None:
            self.engine.close()

    def _open(self) -> None:
        try:
            # Here: the server answers before these libraries are loaded.
            from presage.console.app import open_gate
            from presage.engine import Engine
            from presage.storage import Standby

            self._gate.doing = "the home is opened"
            # Statements come over HTTP: restrict file access to the working folder and the home.
            roots = [Path.cwd(), *([self._home] if self._home else [])]
            allowed = dict(self._allowed)
            if allowed.pop("standby", False):
                self._standby = allowed["standby"] = Standby(self._wait)
                if self._leaving.is_set():
                    return
            self.engine = Engine(home=self._home, roots=roots, **allowed)
            self._gate.leader = None
            self.engine.when_overtaken(self._stop)
            for name, text in self._texts:
                self._carry_out(self.engine, text, name)
            if not self._leaving.is_set():
                open_gate(self._gate, self.engine, self._plans)
                self._gate.doing = None
        except BaseException as failure:
            if not (self._leaving.is_set() and getattr(failure, "code", "") == "ENGINE_CLOSED"):
                self.failure = failure
            self._ended()

    def _wait(self, leader: Leader) -> None:
        self._gate.leader = leader
        sys.stdout.write(f"standing by: {leader} has the home\n")
        sys.stdout.flush()

    def _stop(self) -> None:
        """Another process has taken over: answers from here would be old."""
        self.failure = error("HOME_OVERTAKEN", what="the lease", path=self._home)
        self._ended()

    def _carry_out(self, engine: Engine, text: str, name: str) -> None:
        from presage.cli.script import check_script

        script = check_script(text, name, engine)
        for number, statement in enumerate(script.statements, 1):
            if self._leaving.is_set():
                return
            self._gate.doing = f"{name}: statement {number} of {len(script.statements)}"
            engine.carry_out(statement, script)
