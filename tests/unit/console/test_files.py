"""Files of events that come as the body of a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from presage import Engine
from presage.console.app import make_app

CSV = b"k,x,at\na,1.5,2024-03-01T09:00:00Z\nb,two,2024-03-01T09:00:01Z\n"
STREAM = "CREATE STREAM T (k STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at;"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute(STREAM)
        yield made


@pytest.fixture
def client(engine: Engine) -> TestClient:
    headers = {"Authorization": "Bearer secret", "Content-Type": "application/octet-stream"}
    return TestClient(make_app(engine, "secret"), base_url="http://127.0.0.1:8765", headers=headers)


def test_a_file_is_loaded_once_and_what_does_not_fit_is_rejected_under_its_name(
    engine: Engine, client: TestClient
) -> None:
    found = client.post("/api/streams/T/file?file=../../etc/x.csv&once=1", content=CSV)
    assert found.status_code == 201
    assert (found.json()["accepted"], found.json()["rejected"]) == (1, 1)
    assert client.post("/api/streams/T/file?file=x.csv&once=1", content=CSV).json()["duplicate"]
    assert engine.rejected("T")["origin"].to_pylist() == ["x.csv:3"]


def test_a_declaration_takes_a_name_that_is_free(engine: Engine, client: TestClient) -> None:
    rows = b"k,at\n1,2024-03-01\n"
    found = client.post("/api/declare?file=T.csv", content=rows).json()
    assert found["name"] == "T_2"
    assert found["text"] == "CREATE STREAM T_2 (k LONG, at TIMESTAMP) EVENT TIME at;"
    assert found["remarks"] == ["T.csv: 1 event"]
    engine.execute(found["text"])


@pytest.mark.parametrize(
    ("path", "content", "status", "code"),
    [
        ("/api/declare?file=a.txt", b"x", 409, "FILE_UNREADABLE"),
        ("/api/declare?file=a.parquet", b"x", 409, "FILE_UNREADABLE"),
        ("/api/declare?file=a.csv", b"a,b\n1,2\n", 409, "FILE_UNREADABLE"),
        ("/api/declare?file=a.csv", b"", 409, "FILE_UNREADABLE"),
        ("/api/declare", b"a", 422, "DATA_SHAPE"),
        ("/api/declare?file=%00.csv", b"\xff\xfe,b\n1,2\n", 409, "FILE_UNREADABLE"),
        ("/api/streams/T/file?file=..", b"a", 409, "FILE_UNREADABLE"),
        ("/api/streams/U/file?file=a.csv", CSV, 422, "UNKNOWN_STREAM"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_and_not_where_it_lay(
    path: str, content: bytes, status: int, code: str, client: TestClient
) -> None:
    found = client.post(path, content=content)
    assert (found.status_code, found.json()["errors"][0]["code"]) == (status, code)
    assert "presage-file-" not in found.text
