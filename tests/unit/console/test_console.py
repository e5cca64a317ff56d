"""The console's API, without Spark: who may ask, what is answered, how errors look, rows as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from presage import Engine
from presage.console.access import cookie_name
from presage.console.app import make_app

TOKEN = "secret"
STREAM = "CREATE STREAM T (k STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at;"
EVENTS = [{"k": "a", "x": 11.0, "at": "2024-03-01T09:00:00Z"}, {"k": "b", "x": 12.5, "at": "2024-03-01T09:00:01Z"}]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute(STREAM)
        yield made


def client_of(engine: Engine, token: str | None = TOKEN, host: str = "127.0.0.1", **how: int) -> TestClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return TestClient(make_app(engine, TOKEN, **how), base_url=f"http://{host}:8765", headers=headers)


@pytest.fixture
def client(engine: Engine) -> TestClient:
    return client_of(engine)


# -- who may ask ------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "wrong", "sécret"])
def test_nothing_is_told_without_the_token(engine: Engine, token: str | None) -> None:
    asking = client_of(engine, None)
    headers = {"Authorization": f"Bearer {token}".encode()} if token else {}
    for path in ("/", "/api/statements", "/api/openapi.json", "/api"):
        found = asking.get(path, headers=headers)
        assert found.status_code == 401
        assert found.json()["errors"][0]["code"] == "NOT_ALLOWED"


def test_the_address_with_the_token_leaves_a_cookie_and_no_token_in_the_address(engine: Engine) -> None:
    asking = client_of(engine, None)
    found = asking.get(f"/?token={TOKEN}", follow_redirects=False)
    # In the fragment, which browsers send nowhere: the page keeps it.
    assert (found.status_code, found.headers["location"]) == (303, f"/#token={TOKEN}")
    assert "HttpOnly" in found.headers["set-cookie"]
    assert "SameSite=Strict" in found.headers["set-cookie"]
    assert TOKEN not in found.headers["set-cookie"]
    assert [asking.get(path).status_code for path in ("/", "/api")] == [200, 200]


def test_a_cookie_opens_the_pages_of_its_port_and_no_data(engine: Engine) -> None:
    asking = client_of(engine, None)
    asking.get(f"/?token={TOKEN}", follow_redirects=False)
    (name,) = asking.cookies
    assert name == cookie_name(8765)
    for path in ("/api/statements", "/api/openapi.json", "/api/status"):
        assert asking.get(path).status_code == 401
    other = TestClient(make_app(engine, TOKEN), base_url="http://127.0.0.1:9999", cookies={name: asking.cookies[name]})
    assert other.get("/").status_code == 401
    assert cookie_name(9999) not in other.cookies


def test_another_name_or_origin_is_refused(engine: Engine, client: TestClient) -> None:
    assert client_of(engine, host="evil.example").get("/api/statements").status_code == 403
    assert client.get("/api/statements", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/statements", headers={"Origin": "http://127.0.0.1:1"}).status_code == 403
    assert client.get("/api/statements", headers={"Origin": "http://127.0.0.1:8765"}).status_code == 200


def test_a_long_body_is_refused_whatever_its_header_says(engine: Engine) -> None:
    client = client_of(engine, most_bytes=1_000)
    long = json.dumps({"text": "x" * 2_000})
    assert client.post("/api/check", content=long).status_code == 413

    def unannounced() -> Iterator[bytes]:
        yield from (long[i : i + 100].encode() for i in range(0, len(long), 100))

    found = client.post("/api/check", content=unannounced(), headers={"Content-Type": "application/json"})
    assert found.status_code == 413
    assert found.json()["errors"][0]["code"] == "LIMIT"


def test_answers_forbid_what_a_page_does_not_need(client: TestClient) -> None:
    headers = client.get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


# -- asking -----------------------------------------------------------------------------------------


def test_mistakes_are_told_with_their_place(client: TestClient) -> None:
    (found,) = client.post("/api/check", json={"text": "SELECT q FROM T"}).json()["errors"]
    assert (found["code"], found["line"], found["column"]) == ("UNKNOWN_ATTRIBUTE", 1, 8)
    assert (found["start"], found["end"]) == (7, 8)
    assert client.post("/api/check", json={"text": "SELECT k FROM T"}).json() == {"errors": [], "warnings": []}


def test_checking_declares_nothing(client: TestClient, engine: Engine) -> None:
    text = "CREATE STREAM U (at TIMESTAMP) EVENT TIME at; SELECT at FROM U"
    assert client.post("/api/check", json={"text": text}).json() == {"errors": [], "warnings": []}
    assert "U" not in engine.catalog.types


def test_errors_have_one_shape(client: TestClient) -> None:
    failures = [
        client.post("/api/execute", json={"text": "SELEC"}),
        client.post("/api/execute", json={"texts": 1}),
        client.post("/api/execute", content="not json", headers={"Content-Type": "application/json"}),
        client.get("/api/nothing"),
        client.get("/api/statements/nobody"),
        client.post("/api/streams/Nobody/events", json={"rows": []}),
        client.post("/api/recalls/cancel", json={"event_id": "x"}),
    ]
    assert [f.status_code for f in failures] == [422, 422, 422, 404, 404, 422, 404]
    for found in failures:
        for each in found.json()["errors"]:
            assert {"code", "message", "fix", "line", "column", "fault", "source"} <= each.keys()


def test_explain_tells_the_plan_and_draws_what_can_be_drawn(client: TestClient) -> None:
    plain = client.post("/api/explain", json={"text": "SELECT k FROM T"}).json()
    assert "== " in plain["text"]
    assert plain["picture"] is None
    drawn = client.post("/api/explain", json={"text": "SELECT a.k FROM PATTERN [ EVERY a=T -> b=T(k = a.k) ]"}).json()
    assert drawn["picture"].startswith("<svg")


def test_the_catalog_names_what_can_be_completed(client: TestClient) -> None:
    found = client.get("/api/catalog").json()
    (stream,) = found["names"]
    assert (stream["name"], [a["name"] for a in stream["attributes"]]) == ("T", ["k", "x", "at"])
    assert {"avg", "upper"} & set(found["functions"])


# -- events, statements, rows -----------------------------------------------------------------------


def test_events_are_loaded_once_and_rejected_ones_are_told(client: TestClient) -> None:
    body = {"rows": [*EVENTS, {"k": "c", "x": "much", "at": "2024-03-01T09:00:02Z"}], "once": "1"}
    first = client.post("/api/streams/T/events", json=body)
    assert (first.status_code, first.json()["accepted"], first.json()["rejected"]) == (201, 2, 1)
    assert client.post("/api/streams/T/events", json=body).json()["duplicate"]
    assert "needs DOUBLE" in client.get("/api/streams/T/rejected").json()["rows"][0][0]
    (shown,) = client.get("/api/streams").json()
    assert (shown["name"], shown["rows"]) == ("T", 2)


def test_a_statement_is_deployed_shown_and_stopped(client: TestClient, engine: Engine) -> None:
    made = client.post("/api/statements", json={"text": "SELECT k, x FROM T WHERE x > 12", "name": "high"})
    assert (made.status_code, made.json()["state"]) == (201, "running")
    client.post("/api/streams/T/events", json={"rows": EVENTS})
    engine.advance("T", "2024-03-01T10:00:00Z")
    engine.deployments["high"].drain()
    (one,) = client.get("/api/statements").json()
    assert (one["name"], one["rows_out"], one["watermark"]) == ("high", 1, "2024-03-01T10:00:00Z")
    found = client.get("/api/statements/high/rows").json()
    assert found["rows"] == [["b", 12.5, "2024-03-01T09:00:01Z"]]
    assert client.get("/api/statements/high").json()["columns"][0]["name"] == "k"
    assert client.delete("/api/statements/high").json()["state"] == "stopped"


def test_rows_are_given_by_number(client: TestClient, engine: Engine) -> None:
    client.post("/api/statements", json={"text": "SELECT k FROM T", "name": "all"})
    engine.load("T", [{"k": str(i), "x": 1.0, "at": f"2024-03-01T09:00:{i:02d}Z"} for i in range(10)])
    engine.advance("T", "2024-03-01T10:00:00Z")
    engine.deployments["all"].drain()
    found = client.get("/api/statements/all/rows?after=3&limit=2").json()
    assert ([row[0] for row in found["rows"]], found["first"], found["total"]) == (["3", "4"], 3, 10)
    assert client.get("/api/statements/all/rows?last=true&limit=2").json()["first"] == 8


# -- warnings ---------------------------------------------------------------------------------------

GUARDED = "SELECT a.k FROM PATTERN [ EVERY a=T -> b=T -> c=T WHERE timer:within(1 min) ]"
BRACKETS = "SELECT a.k FROM PATTERN [ EVERY a=T -> b=T -> (c=T WHERE timer:within(1 min)) ]"


def test_answers_have_the_warnings_about_a_text(client: TestClient) -> None:
    told = client.post("/api/check", json={"text": GUARDED}).json()
    (found,) = told["warnings"]
    assert told["errors"] == []
    assert (found["code"], found["fault"], found["line"]) == ("GUARD_COVERS_LAST", "warning", 1)
    assert GUARDED[found["start"] : found["end"]] == "c=T WHERE timer:within(1 min)"
    made = client.post("/api/statements", json={"text": GUARDED, "name": "three"}).json()
    assert [w["code"] for w in made["warnings"]] == ["GUARD_COVERS_LAST"]
    told = client.post("/api/execute", json={"text": f"INSERT INTO Thrice {GUARDED}"}).json()
    assert [w["code"] for w in told["warnings"]] == ["GUARD_COVERS_LAST"]


def test_brackets_that_the_user_wrote_are_seen_in_explain(client: TestClient) -> None:
    assert "GUARD_COVERS_LAST" in client.post("/api/explain", json={"text": GUARDED}).json()["text"]
    assert "GUARD_COVERS_LAST" not in client.post("/api/explain", json={"text": BRACKETS}).json()["text"]


def test_a_statement_that_is_deployed_late_says_what_it_missed(engine: Engine, client: TestClient) -> None:
    engine.load("T", EVENTS)
    made = client.post("/api/statements", json={"text": "SELECT k FROM T", "name": "late"}).json()
    (found,) = made["warnings"]
    assert found["code"] == "EVENTS_BEFORE_NOW"
    assert found["message"].endswith("2 events of T")
    told = client.post("/api/execute", json={"text": "CREATE STATEMENT later AS SELECT x FROM T"}).json()
    assert [w["code"] for w in told["warnings"]] == ["EVENTS_BEFORE_NOW"]
