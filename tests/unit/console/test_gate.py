"""The console while its engine is on the way: it listens, shows its page, and says what it waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from presage import Engine, Leader
from presage.cli.server_engine import Opening
from presage.console.access import Access
from presage.console.app import open_gate
from presage.console.gate import Gate
from presage.errors import PresageError

TOKEN = "secret"


def client_of(gate: Gate) -> TestClient:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(Access(gate, TOKEN), base_url="http://127.0.0.1:8765", headers=headers)


def test_without_an_engine_the_page_is_there_and_the_api_says_that_it_is_starting() -> None:
    gate = Gate("rules.epl: statement 3 of 7")
    client = client_of(gate)
    assert "<main" in client.get("/").text
    assert client.get("/static/main.js").status_code == 200
    assert client.get("/static/nothing.js").status_code == 404
    assert client.get("/api/status").json() == {"state": "starting", "doing": "rules.epl: statement 3 of 7"}
    refused = client.get("/api/statements")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    (told,) = refused.json()["errors"]
    assert told["code"] == "STARTING"
    assert "rules.epl: statement 3 of 7" in told["message"]


def test_once_the_engine_is_there_the_same_gate_lets_requests_pass(tmp_path: Path) -> None:
    gate = Gate()
    client = client_of(gate)
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        open_gate(gate, engine)
        gate.doing = "Spark is starting"
        assert client.get("/api/statements").json() == []
        told = client.get("/api/status").json()
        assert (told["state"], told["doing"], told["home"]) == ("ready", "Spark is starting", str(engine.home))
        assert "/api/status" in client.get("/api/openapi.json").json()["paths"]


def test_while_statements_of_a_file_are_executed_the_status_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, seen, execute = Gate(), list[Any](), Engine.carry_out
    client = client_of(gate)

    def looked(self: Engine, *given: Any) -> Any:
        seen.append(client.get("/api/status").json())
        return execute(self, *given)

    monkeypatch.setattr(Engine, "carry_out", looked)
    streams = "CREATE STREAM T (k STRING, at TIMESTAMP) EVENT TIME at; CREATE STREAM U INHERITS T;"
    opening = Opening(gate, None, [("rules.epl", streams), ("more.epl", "SHOW STREAMS;")], lambda: None)
    opening.start()
    opening._thread.join(60)
    opening.close()
    assert opening.failure is None
    texts = ["rules.epl: statement 1 of 2", "rules.epl: statement 2 of 2", "more.epl: statement 1 of 1"]
    assert seen == [{"state": "starting", "doing": text} for text in texts]


def test_nothing_of_the_start_is_told_without_the_token() -> None:
    client = TestClient(Access(Gate(), TOKEN), base_url="http://127.0.0.1:8765")
    assert client.get("/api/status").status_code == 401
    people = client.get("/", headers={"Accept": "text/html"})
    assert people.status_code == 401
    assert "needs its token" in people.text
    assert client.get("/", headers={"Accept": "text/html", "Host": "evil.example"}).status_code == 403


def test_while_it_stands_by_the_api_says_who_leads_and_answers_once_it_has_taken_over(tmp_path: Path) -> None:
    gate = Gate()
    gate.leader = Leader("process 7 on plant", "http://plant:8765/")
    client = client_of(gate)
    told = client.get("/api/status").json()
    assert told["state"] == "standby"
    assert told["leader"] == {"owner": "process 7 on plant", "address": "http://plant:8765/"}
    refused = client.post("/api/query", json={"text": "SHOW STREAMS"})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    (problem,) = refused.json()["errors"]
    assert problem["code"] == "STANDING_BY"
    assert "process 7 on plant, at http://plant:8765/" in problem["message"]
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        open_gate(gate, engine)
        assert client.get("/api/statements").json() == []
        assert client.get("/api/status").json()["state"] == "ready"


def test_an_engine_that_was_overtaken_answers_with_its_error(tmp_path: Path) -> None:
    gate = Gate()
    client = client_of(gate)
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        open_gate(gate, engine)
        engine._log.home.lease.lose()
        refused = client.post("/api/query", json={"text": "SHOW STREAMS"})
        assert refused.status_code == 503
        assert refused.json()["errors"][0]["code"] == "HOME_OVERTAKEN"
        with pytest.raises(PresageError, match="HOME_OVERTAKEN"):
            engine.close()
        engine._log.home.unlock()
