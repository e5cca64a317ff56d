"""Wrong credentials, lost objects, busy servers and broken networks: clear errors, and nothing is lost."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import presage
from integration.bucket_proxy import BucketProxy, proxy_of
from integration.bucket_servers import BUCKET, SECRET, BucketServer, moto, reached, versitygw
from presage.errors import PresageError
from presage.storage import object_store
from presage.storage.object_store import open_bucket

STREAM = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"
SUMS = "SELECT sym, sum(price) AS total FROM Tick#length(3) GROUP BY sym"
WRONG = "not-the-secret-of-anybody"
BOUND = 35.0  # seconds in which an error must come: a request that gets no answer waits for 30
BRIEF = {**object_store.RETRIES, "retry_timeout": timedelta(seconds=1)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    """One that checks signatures."""
    with versitygw(tmp_path_factory.mktemp("versitygw")) as server, reached(server):
        yield server


@pytest.fixture
def proxy(server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketProxy]:
    """All clients go through it."""
    with proxy_of(server.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def home(server: BucketServer, request: pytest.FixtureRequest) -> str:
    return f"{server.bucket}/{request.function.__name__}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "RETRIES", BRIEF)


def row(n: int) -> dict[str, Any]:
    return {"sym": "a", "price": float(n), "at": f"2024-03-01T09:{n // 60:02d}:{n % 60:02d}Z"}


def load(engine: presage.Engine, n: int) -> None:
    engine.load("Tick", [row(n)], once=f"n-{n}")


def prices(engine: presage.Engine) -> list[float]:
    found: list[float] = engine.query("SELECT price FROM Tick").to_arrow()["price"].to_pylist()
    return found


def totals(engine: presage.Engine) -> list[float]:
    """The results of the statement; its batches go on by themselves when the server is there again."""
    deployed, until = engine.deployments["sums"], time.monotonic() + 60
    while True:
        try:
            deployed.drain()
            break
        except PresageError as problem:
            if problem.code != "LIVE_STOPPED" or time.monotonic() > until:
                raise
            time.sleep(0.2)
    assert deployed.status.state == "running"
    return [each["total"] for each in deployed.results()]


def refused(home: str, **options: str) -> PresageError:
    began = time.monotonic()
    with pytest.raises(PresageError) as told:
        presage.Engine(home=home, storage_options=options or None)
    assert time.monotonic() - began < BOUND
    assert WRONG not in str(told.value)
    assert SECRET not in str(told.value)
    return told.value


def test_wrong_and_expired_credentials_are_named_and_never_shown(home: str) -> None:
    presage.Engine(home=home).close()
    for option, code in {
        "aws_secret_access_key": "SignatureDoesNotMatch",
        "aws_access_key_id": "access key",
        "aws_session_token": "InvalidToken",
    }.items():
        problem = refused(home, **{option: WRONG})
        assert problem.code == "STORAGE_FAILED"
        assert code in problem.message
        assert "credentials" in problem.fix
        assert home in problem.message
    presage.Engine(home=home).close()


def test_a_bucket_that_is_not_there_is_named(server: BucketServer) -> None:
    problem = refused("s3://no-such-bucket/plant")
    assert (problem.code, "NoSuchBucket" in problem.message) == ("STORAGE_FAILED", True)
    assert "s3://no-such-bucket/plant" in problem.message


def test_a_server_that_is_not_there_is_told_in_seconds(home: str) -> None:
    problem = refused(home, aws_endpoint="http://127.0.0.1:9")
    assert (problem.code, "cannot be reached" in problem.message) == ("STORAGE_FAILED", True)


def test_a_server_that_does_not_answer_is_told_in_seconds(home: str, proxy: BucketProxy) -> None:
    proxy.stalls = True
    problem = refused(home)
    assert (problem.code, "does not answer" in problem.message) == ("STORAGE_FAILED", True)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("aws_secret_access_key", "env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
        ("aws_endpoint", "127.0.0.1:9000", "no address"),
        ("aws_sercet_access_key", WRONG, "aws_sercet_access_key"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(home: str, name: str, value: str, why: str) -> None:
    problem = refused(home, **{name: value})
    assert problem.code == "STORE_OPTION"
    assert why in problem.message
    assert name in problem.message


def test_a_store_that_overwrites_is_refused_before_anything_is_written_there() -> None:
    with moto() as server, reached(server), proxy_of(server.endpoint) as proxy:
        proxy.overwrites = True
        address = f"{server.bucket}/home"
        assert refused(address, aws_endpoint=proxy.endpoint).code == "STORE_UNSAFE"
        store, path = open_bucket(address, {"aws_endpoint": server.endpoint})
        assert store.names(path) == []


@pytest.mark.parametrize(
    ("closed", "lost", "named"),
    [
        (False, "journal/00000000000002.json", "record 2"),
        (True, "journal/head-*.json", "the journal"),
        (True, "presage.json", "presage.json"),
        (True, "catalog/*.json", "catalog entry"),
        (True, "streams/Tick/stream.json", "stream 'Tick'"),
        (True, "events/_delta_log/*0.json", "Tick/events"),
        (True, "streams/Tick/events/*.parquet", ".parquet"),
    ],
)
def test_an_object_that_a_rule_of_the_bucket_deleted_is_named(
    server: BucketServer, home: str, closed: bool, lost: str, named: str
) -> None:
    home = f"{home}-{lost.translate(str.maketrans('/*', '--'))}"
    engine = presage.Engine(home=home)
    engine.execute(STREAM)
    for n in range(3):
        load(engine, n)
    if closed:
        engine.close()
    else:
        engine._parts.log.home.unlock()  # as if it were killed
    store, path = open_bucket(home)
    gone = next(each for each in store.walk(path) if each.match(lost))
    content = store.read(gone)
    server.delete(str(gone.relative_to(f"/{BUCKET}")))
    with pytest.raises(PresageError) as told, presage.Engine(home=home) as engine:
        prices(engine)
    assert told.value.code in ("HOME_CORRUPT", "NOT_A_HOME")
    assert named in told.value.message
    store.put(gone, content)
    with presage.Engine(home=home) as engine:
        assert prices(engine) == [0.0, 1.0, 2.0]


def test_a_server_that_is_too_busy_for_a_while_loses_nothing(home: str, proxy: BucketProxy) -> None:
    with presage.Engine(home=home) as engine:
        engine.execute(STREAM)
        engine.deploy(SUMS, name="sums")
        load(engine, 0)
        proxy.throttles = True
        later = threading.Timer(3, proxy.well)
        later.start()
        for n in range(1, 10):
            load(engine, n)
        later.join()
        assert proxy.refused
        assert prices(engine) == [float(n) for n in range(10)]
        assert totals(engine)[-1] == 7.0 + 8.0 + 9.0


@pytest.mark.parametrize("fault", ["throttles", "drops"])
def test_while_a_server_refuses_everything_each_load_says_so_and_nothing_is_lost(
    home: str, proxy: BucketProxy, impatient: None, fault: str
) -> None:
    with presage.Engine(home=f"{home}-{fault}") as engine:
        engine.execute(STREAM)
        engine.deploy(SUMS, name="sums")
        load(engine, 0)
        setattr(proxy, fault, True)
        for _ in range(2):
            with pytest.raises(PresageError) as told:
                load(engine, 1)
            assert told.value.code == "STORAGE_FAILED"
        proxy.well()
        for n in range(1, 4):
            load(engine, n)
        assert prices(engine) == [0.0, 1.0, 2.0, 3.0]
        assert totals(engine) == [0.0, 1.0, 3.0, 6.0]


def test_replies_that_are_lost_lose_and_repeat_nothing(home: str, proxy: BucketProxy) -> None:
    with presage.Engine(home=home) as engine:
        engine.execute(STREAM)
        for n in range(6):
            proxy.loses_replies = n % 3
            load(engine, n)
    with presage.Engine(home=home) as engine:
        assert prices(engine) == [float(n) for n in range(6)]
    assert proxy.refused >= 4


def test_a_network_that_is_cut_in_the_middle_of_batches_changes_no_result(
    home: str, proxy: BucketProxy, impatient: None
) -> None:
    with presage.Engine(home=home) as engine:
        engine.execute(STREAM)
        engine.deploy(SUMS, name="sums")
        for n in range(12):
            load(engine, n)
            if n % 4 == 1:
                proxy.drops = True
                time.sleep(1.5)  # the batch of this load is at work
                proxy.well()
        assert totals(engine) == [float(sum(range(max(0, n - 2), n + 1))) for n in range(12)]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_server_whose_clock_is_an_hour_off_changes_nothing(home: str, proxy: BucketProxy, hours: int) -> None:
    proxy.skew = timedelta(hours=hours)
    with presage.Engine(home=f"{home}{hours}") as engine:
        engine.execute(STREAM)
        for n in range(40):
            load(engine, n)
        log = engine._parts.log
        log.maintenance.run([engine._parts.workspace.catalog.types["Tick"]])  # begins a checkpoint
        report = log.maintenance.run([engine._parts.workspace.catalog.types["Tick"]])
        assert (report.deleted, report.cleaned) == (0, 0), "files are younger than readers may be"
        assert prices(engine) == [float(n) for n in range(40)]


def test_two_clusters_on_one_home_never_write_it_together(home: str) -> None:
    program = "import presage, sys; presage.Engine(home=sys.argv[1]); print('opened'); sys.stdin.read()"
    command = [sys.executable, "-c", program, home]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "opened\n"
        problem = refused(home)
        assert problem.code == "HOME_LOCKED"
        assert f"process {other.pid}" in problem.message
        other.communicate("")


def test_secrets_are_in_no_output(home: str, server: BucketServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"aws_secret_access_key": SECRET, "aws_endpoint": server.endpoint}
    with presage.Engine(home=home, storage_options=options) as engine:
        engine.execute(STREAM)
        engine.deploy(SUMS, name="sums")
        load(engine, 0)
        shown = [engine.execute(f"EXPLAIN {SUMS}"), engine.execute("DESCRIBE Tick"), engine.deployments["sums"].status]
        shown += [engine, engine.home, engine._parts.log.home.store, caplog.text]
        shown += [each.to_arrow().to_pylist() for each in shown[:2]]
        with pytest.raises(PresageError) as told:
            presage.Engine(home=home, storage_options=options)
        shown += [told.value, repr(told.value)]
    store, path = open_bucket(home)
    stored = b"".join(store.read(each) for each in store.walk(path))
    assert SECRET not in " ".join(map(str, shown))
    assert SECRET.encode() not in stored
