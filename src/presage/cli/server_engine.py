"""The engine of `presage serve`, opened in the background while the server already answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presage.console.gate import Gate
from presage.console.plans import Plan

if TYPE_CHECKING:
    from presage.engine import Engine

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
        self.engine: Engine | None = None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._open, name="presage-opening", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._leaving.set()
        self._thread.join()
        if self.engine is not None:
            self.engine.close()

    def _open(self) -> None:
        try:
            # Here: the server answers before these libraries are loaded.
            from presage.console.app import open_gate
            from presage.engine import Engine

            self._gate.doing = "the home is opened"
            # Statements come over HTTP: restrict file access to the working folder and the home.
            roots = [Path.cwd(), *([self._home] if self._home else [])]
            self.engine = Engine(home=self._home, roots=roots, **self._allowed)
            for name, text in self._texts:
                self._carry_out(self.engine, text, name)
            if not self._leaving.is_set():
                open_gate(self._gate, self.engine, self._plans)
                self._gate.doing = None
        except BaseException as failure:
            self.failure = failure
            self._ended()

    def _carry_out(self, engine: Engine, text: str, name: str) -> None:
        from presage.cli.script import check_script

        script = check_script(text, name, engine)
        for number, statement in enumerate(script.statements, 1):
            if self._leaving.is_set():
                return
            self._gate.doing = f"{name}: statement {number} of {len(script.statements)}"
            engine.carry_out(statement, script)
