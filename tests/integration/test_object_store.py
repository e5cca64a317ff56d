"""Homes in a bucket, on servers on the loopback: two of S3's protocol, and Azure's emulator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath, PurePosixPath

import pytest

import presage
from integration.bucket_servers import BUCKET, BucketServer, azurite, moto, reached, versitygw
from presage.errors import PresageError
from presage.storage import home_lease
from presage.storage.object_store import open_bucket
from presage.storage.store import Store
from unit.storage.test_stores import (
    test_a_file_appears_only_if_its_writing_ends_well,
    test_a_folder_is_deleted_with_all_that_is_below_it,
    test_names_are_those_of_files_and_folders,
    test_of_many_threads_one_creates_a_file,
    test_what_exists_is_not_created_again,
    test_what_is_missing_is_named_and_deleted_without_effect,
    test_what_is_put_is_read_and_replaced_as_a_whole,
)

__all__ = ["test_a_file_appears_only_if_its_writing_ends_well", "test_a_folder_is_deleted_with_all_that_is_below_it"]
__all__ += ["test_names_are_those_of_files_and_folders", "test_of_many_threads_one_creates_a_file"]
__all__ += ["test_what_exists_is_not_created_again", "test_what_is_missing_is_named_and_deleted_without_effect"]
__all__ += ["test_what_is_put_is_read_and_replaced_as_a_whole"]

STREAM = "CREATE STREAM IF NOT EXISTS Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"
SUMS = "SELECT sym, sum(price) AS total FROM Tick#length(3) GROUP BY sym"
# Loads the event numbers from what is there on, one load each, until it is killed.
LOADER = f"""
import sys
import presage

with presage.Engine(home=sys.argv[1]) as engine:
    engine.execute({STREAM!r})
    if "sums" not in engine.deployments:
        engine.deploy({SUMS!r}, name="sums")
    print("open", flush=True)
    for n in range(int(sys.argv[2])):
        at = f"2024-03-01T09:{{n // 60:02d}}:{{n % 60:02d}}Z"
        engine.load("Tick", [{{"sym": "a", "price": float(n), "at": at}}], once=f"n-{{n}}")
        print(n, flush=True)
    engine.deployments["sums"].drain()
print("closed", flush=True)
"""
ON_SPARK = f"""
import sys
import presage

with presage.Engine(home=sys.argv[1], placement="spark") as engine:
    engine.execute({STREAM!r})
    frame = engine.spark.range(1_000).selectExpr(
        "'a' AS sym", "CAST(id AS DOUBLE) AS price", "timestamp_seconds(1709283600 + id) AS at"
    )
    print(engine.load("Tick", frame).accepted)
    print(engine.query("SELECT sum(price) AS s FROM Tick OUTPUT LAST").to_arrow()["s"].to_pylist())
"""


@pytest.fixture(scope="module", params=["moto", "versitygw", "azurite"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    folder = tmp_path_factory.mktemp(request.param)
    servers = {"moto": moto, "versitygw": partial(versitygw, folder), "azurite": partial(azurite, folder)}
    with servers[request.param]() as server, reached(server):
        yield server


@pytest.fixture
def home(server: BucketServer, request: pytest.FixtureRequest) -> str:
    return f"{server.bucket}/{request.function.__name__}"


@pytest.fixture
def place(home: str) -> tuple[Store, PurePath]:
    store, _ = open_bucket(home)
    return store, PurePosixPath(f"/{BUCKET}") / f"stores-{time.monotonic_ns()}"


def rows(engine: presage.Engine) -> list[tuple[str, float]]:
    deployed = engine.deployments["sums"]
    deployed.drain()
    return [(row["sym"], row["total"]) for row in deployed.results()]


def expected(count: int) -> list[tuple[str, float]]:
    return [("a", float(sum(range(max(0, n - 2), n + 1)))) for n in range(count)]


def run(home: str, count: int) -> subprocess.Popen[str]:
    # Not a fork: the server runs in threads of this process.
    return subprocess.Popen([sys.executable, "-c", LOADER, home, str(count)], stdout=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    for found in process.stdout:
        if found.strip() == line:
            return
    raise AssertionError(f"the process ended before it said '{line}'")


def test_an_engine_goes_on_where_the_last_one_ended(home: str) -> None:
    for start in (0, 5):
        with presage.Engine(home=home) as engine:
            engine.execute(STREAM)
            if start == 0:
                engine.deploy(SUMS, name="sums")
            for n in range(start, start + 5):
                engine.load("Tick", [{"sym": "a", "price": float(n), "at": f"2024-03-01T09:00:{n:02d}Z"}])
            assert rows(engine) == expected(start + 5)
            assert engine.home == home
            counted = engine.query("SELECT count(*) AS n FROM Tick OUTPUT LAST").to_arrow()["n"].to_pylist()
            assert counted == [start + 5]


def test_spark_reads_and_writes_a_bucket_without_a_connector(home: str) -> None:
    # In a process of its own: workers have the environment that the process had when it started Spark.
    done = subprocess.run([sys.executable, "-c", ON_SPARK, home], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1000", "[499500.0]"]


def test_what_a_killed_engine_acknowledged_is_there_once(home: str) -> None:
    count = 60
    for kill in (7, 23, 41):
        with run(home, count) as process:
            wait_for(process, str(kill))
            process.kill()
    with run(home, count) as process:
        wait_for(process, "closed")
    with presage.Engine(home=home) as engine:
        assert rows(engine) == expected(count)
        numbers = engine.query("SELECT price FROM Tick").to_arrow()["price"].to_pylist()
        assert numbers == [float(n) for n in range(count)]


def test_a_standby_goes_on_within_seconds_of_a_kill(home: str) -> None:
    with run(home, 1_000) as process:
        wait_for(process, "9")
        process.kill()
        began = time.monotonic()
        with presage.Engine(home=home, standby=True) as engine:
            found = rows(engine)
            assert time.monotonic() - began < home_lease.SECONDS + 5
            assert len(found) >= 10
            assert found == expected(len(found))


def test_a_second_engine_is_refused_while_the_first_is_alive(home: str) -> None:
    with presage.Engine(home=home) as engine:
        engine.execute(STREAM)
        with pytest.raises(PresageError) as refused:
            presage.Engine(home=home)
        assert refused.value.code == "HOME_LOCKED"
        assert f"process {os.getpid()}" in refused.value.message
    presage.Engine(home=home).close()


def test_an_engine_that_was_paused_for_longer_than_its_lease_publishes_nothing_more(home: str) -> None:
    with run(home, 1_000) as process:
        wait_for(process, "5")
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with presage.Engine(home=home) as engine:
            assert time.monotonic() - began < home_lease.SECONDS + 10
            before = engine.query("SELECT price FROM Tick").to_arrow()["price"].to_pylist()
            process.send_signal(signal.SIGCONT)
            output, _ = process.communicate(timeout=60)
            assert process.returncode != 0
            assert "closed" not in output
            n = len(before)
            engine.load("Tick", [{"sym": "a", "price": float(n), "at": "2024-03-01T10:00:00Z"}])
            assert engine.query("SELECT price FROM Tick").to_arrow()["price"].to_pylist() == [*before, float(n)]
            assert rows(engine) == expected(n + 1)


def test_of_two_engines_that_open_at_once_one_has_the_home(home: str) -> None:
    opened: list[presage.Engine] = []
    codes: list[str] = []

    def open_it() -> None:
        try:
            opened.append(presage.Engine(home=home))
        except PresageError as problem:
            codes.append(problem.code)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for engine in opened:
        engine.close()
    assert (len(opened), set(codes)) == (1, {"HOME_LOCKED"})
