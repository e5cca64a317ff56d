"""`presage serve --standby` and `presage run --standby` as processes: they wait, say who leads, and take over."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from presage import Engine
from presage.storage.home_lease import SECONDS

RULES = """
CREATE STREAM IF NOT EXISTS Tick (n LONG, at TIMESTAMP) EVENT TIME at;
CREATE STATEMENT IF NOT EXISTS doubles AS SELECT n * 2 AS m FROM Tick;
"""
TOKEN = "secret-of-this-test"


class Command:
    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "presage", *words],
            env={**os.environ, "PRESAGE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def until(self, pattern: str) -> re.Match[str]:
        assert self.process.stdout is not None
        while not (found := re.search(pattern, self.said)):
            line = self.process.stdout.readline()
            assert line, f"it ended and said: {self.said}"
            self.said += line
        return found

    def end(self) -> int:
        """Its exit code; `said` is complete then."""
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        return self.process.wait(60)


@contextmanager
def command(*words: str) -> Iterator[Command]:
    made = Command(*words)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        assert made.process.stdout is not None
        made.process.stdout.close()


def ask(address: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data, headers), timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def eventually(done: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "not in time"
        time.sleep(0.05)


def serve(home: Path, rules: Path, *more: str) -> list[str]:
    words = ["serve", str(rules), "--home", str(home), "--port", "0", "--token", "env:PRESAGE_TOKEN"]
    return [*words, *more]


def address_of(server: Command) -> str:
    return server.until(r"Presage is at (http://\S+/)")[1]


def test_a_server_stands_by_takes_over_from_a_paused_one_and_that_one_ends(tmp_path: Path) -> None:
    home, rules = tmp_path / "home", tmp_path / "rules.epl"
    rules.write_text(RULES)
    with ExitStack() as ends:
        leader = ends.enter_context(command(*serve(home, rules)))
        first = address_of(leader)
        eventually(lambda: ask(first, "api/status")[1]["state"] == "ready")
        standby = ends.enter_context(command(*serve(home, rules, "--standby")))
        rows = [{"n": n, "at": f"2024-03-01T09:00:0{n}Z"} for n in range(3)]
        assert ask(first, "api/streams/Tick/events", {"rows": rows})[0] == 201
        second = address_of(standby)
        eventually(lambda: ask(second, "api/status")[1].get("leader", {}).get("address") == first)
        told = ask(second, "api/status")[1]
        assert told["state"] == "standby"
        assert told["leader"]["owner"].startswith(f"process {leader.process.pid} on ")
        status, refused = ask(second, "api/statements")
        assert (status, refused["errors"][0]["code"]) == (503, "STANDING_BY")
        assert first in refused["errors"][0]["message"]
        standby.until(rf"standing by: process {leader.process.pid} on .*")
        leader.process.send_signal(signal.SIGSTOP)
        eventually(lambda: ask(second, "api/status")[1]["state"] == "ready", SECONDS + 40)
        leader.process.send_signal(signal.SIGCONT)
        assert leader.end() == 1
        assert "HOME_OVERTAKEN" in leader.said
        status, answer = ask(second, "api/statements/doubles/rows?after=0")
        assert status == 200
        assert [row[0] for row in answer["rows"]] == [0, 2, 4]
        standby.process.send_signal(signal.SIGINT)
        assert standby.end() == 0
    with Engine(home=home, live=False) as engine:
        assert engine.query("SELECT n FROM Tick").to_arrow()["n"].to_pylist() == [0, 1, 2]


def test_a_server_that_stands_by_can_be_interrupted(tmp_path: Path) -> None:
    rules = tmp_path / "rules.epl"
    rules.write_text(RULES)
    with Engine(home=tmp_path / "home"), command(*serve(tmp_path / "home", rules, "--standby")) as standby:
        standby.until("standing by: process")
        standby.process.send_signal(signal.SIGINT)
        assert standby.end() == 0
        assert "stopped" in standby.said


def test_a_run_says_that_it_waits_and_runs_when_the_home_is_free(tmp_path: Path) -> None:
    rules = tmp_path / "rules.epl"
    rules.write_text(RULES + "SELECT n FROM Tick;")
    with Engine(home=tmp_path / "home") as holder:
        holder.execute(RULES)
        holder.load("Tick", [{"n": 41, "at": "2024-03-01T09:00:00Z"}])
        with command("run", str(rules), "--home", str(tmp_path / "home"), "--standby") as waiting:
            waiting.until(rf"standing by: process {os.getpid()} on ")
            holder.close()
            assert waiting.end() == 0
            assert "41" in waiting.said
