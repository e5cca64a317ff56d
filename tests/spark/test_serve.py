"""`presage serve` as a process: it answers before Spark is there, carries out its files, and leaves nothing running."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

RULES = """
CREATE STREAM T (k STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STATEMENT high AS SELECT k, x FROM T WHERE x > 12;
"""
PATIENCE = 300.0


class Serving:
    """A command that serves, on a free port."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "presage.cli", *arguments, "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        # Whatever a test that failed has left; the JVM ends with the process.
        self.process.kill()
        self.process.communicate()

    def get(self, path: str) -> Any:
        """The answer; None if nobody answers yet."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": "Bearer t"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return json.load(refused)
        except (urllib.error.URLError, ConnectionError):
            return None

    def left_running(self) -> list[int]:
        """Processes of its session that are there ten seconds after it."""
        until = time.monotonic() + 10
        while self._of_its_session() and time.monotonic() < until:
            time.sleep(0.1)
        return self._of_its_session()

    def _of_its_session(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    session = os.getsid(int(entry.name))
                except (ProcessLookupError, PermissionError):
                    continue
                if session == self.process.pid:
                    found.append(int(entry.name))
        return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_it_answers_at_once_and_an_interrupt_leaves_nothing_running(tmp_path: Path) -> None:
    # Enough statements that it is not ready when it first answers, on no machine.
    more = (f"CREATE STREAM T{number} (at TIMESTAMP) EVENT TIME at;" for number in range(100))
    (tmp_path / "rules.epl").write_text(RULES + "\n".join(more))
    with Serving(tmp_path, "serve", "rules.epl", "--token", "t") as serving:
        seen = []
        until = time.monotonic() + PATIENCE
        while (not seen or seen[-1]["state"] != "ready") and time.monotonic() < until:
            told = serving.get("/api/status")
            if told is not None:
                seen.append(told)
            time.sleep(0.05)
        assert [told["state"] for told in (seen[0], seen[-1])] == ["starting", "ready"]
        assert [each["name"] for each in serving.get("/api/statements")] == ["high"]
        serving.process.send_signal(signal.SIGINT)
        output, complaints = serving.process.communicate(timeout=60)
        assert (serving.process.returncode, output.splitlines()[-1]) == (0, "stopped"), complaints
        assert serving.left_running() == []


def test_a_mistake_in_a_file_ends_it_with_the_mistake(tmp_path: Path) -> None:
    (tmp_path / "rules.epl").write_text("SELECT a FROM Nowhere;")
    with Serving(tmp_path, "serve", "rules.epl", "--token", "t") as serving:
        _, complaints = serving.process.communicate(timeout=PATIENCE)
        assert serving.process.returncode == 1
        assert "UNKNOWN_STREAM" in complaints or "Nowhere" in complaints
        assert "Traceback" not in complaints


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_the_campus_in_the_console_ends_with_a_summary_when_it_is_interrupted(tmp_path: Path) -> None:
    with Serving(tmp_path, "demo", "campus", "--serve", "--sensors", "400", "--for", "300") as serving:
        assert serving.process.stdout is not None
        lines: list[str] = []
        for line in serving.process.stdout:
            lines.append(line)
            if "statements are deployed" in line:
                break
        assert any(f"http://127.0.0.1:{serving.port}/?token=" in line for line in lines)
        serving.process.send_signal(signal.SIGINT)
        output, complaints = serving.process.communicate(timeout=PATIENCE)
        assert serving.process.returncode == 0, complaints
        assert "What was found" in output
        assert serving.left_running() == []
