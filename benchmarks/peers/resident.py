"""A command in, a process that stays out: it is asked in lines, measures itself, and answers in lines.

What it prints besides (warnings of a JVM, say) is passed over: only lines that begin with `ready` or `answer` count.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Self


class Resident:
    """A rival in a process of its own, warm from run to run, idle while others run."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._name = Path(command[0]).name
        self._complaints = TemporaryFile()  # noqa: SIM115 it lives as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=dict(environment),
        )

    def wait_until_ready(self) -> None:
        self._read("ready")

    def ask(self, request: str = "run") -> tuple[float, int | None]:
        """The seconds of a run, and the matches if the rival has counted them."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        seconds, *matches = self._read("answer")
        return float(seconds), int(matches[0]) if matches else None

    def _read(self, wanted: str) -> list[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, *rest = line.split() or [""]
            if word == wanted:
                return rest
        self._complaints.seek(0)
        raise RuntimeError(f"{self._name} has ended:\n{self._complaints.read().decode(errors='replace')[-4_000:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._complaints.close()
