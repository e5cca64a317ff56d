"""Opening a home of 10,000 records and 1,000 statements: in a folder, and in a bucket of an S3 server.

The records are appends of ten events, with statements deployed before that read them: filters, windows, joins, patterns
and INSERT INTO. Maintenance and batches run in between. The home is opened after it was closed, and after it was killed
with records since the head, in turn, each time in a process of its own. Printed: seconds in `Engine(…)`, and seconds of
the whole process, with Python and all imports.
Run as: python benchmarks/opening.py [records] [statements] [--bucket]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from presage import Engine

RECORDS, STATEMENTS, ROUNDS = 10_000, 1_000, 7
ROWS = 10
LIMIT = 3.0  # seconds, closed home in a folder
STREAMS = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
CREATE STREAM Quote (sym STRING, bid DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sym);
"""
PAUSE = 250  # records between two calls of maintenance
OPEN = """
import sys, time
import presage
from presage import Engine
begin, spent = time.perf_counter(), time.process_time()
engine = Engine(home=sys.argv[1], live=False, driven=False)
print(time.perf_counter() - begin, time.process_time() - spent)
assert len(engine.deployments) == int(sys.argv[2])
engine.close()
"""
SERVER = """
from moto.server import ThreadedMotoServer
import boto3, os, sys
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
boto3.client("s3", region_name="us-east-1", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="opening")
print(f"http://{host}:{port}", flush=True)
sys.stdin.read()
"""


def text(number: int) -> str:
    """Statements of six forms, each with constants of its own."""
    sym, least, seconds = f"s{number % 50}", number % 97 / 10, 60 + number
    forms = (
        f"SELECT sym, price FROM Tick WHERE sym = '{sym}' AND price > {least}",
        f"SELECT sym, avg(price) AS mean FROM Tick(sym = '{sym}')#time({seconds} sec) GROUP BY sym",
        f"SELECT sym, sum(price) AS total FROM Tick#length({number % 20 + 2}) GROUP BY sym",
        f"SELECT t.sym AS sym, t.price - q.bid AS edge FROM Tick#time({seconds} sec) AS t, Quote#length(2) AS q "
        f"WHERE t.sym = q.sym AND t.price > {least}",
        f"SELECT a.sym AS sym, b.price AS price FROM PATTERN [every a=Tick(price > {least}) -> "
        f"b=Tick(sym = a.sym) where timer:within({seconds} sec)]",
        f"INSERT INTO High{number} SELECT sym, price FROM Tick WHERE sym = '{sym}' AND price > {least}",
    )
    return forms[number % len(forms) if number < 60 else number % 5]


def rows(stream: str, record: int) -> list[dict[str, object]]:
    value = "bid" if stream == "Quote" else "price"
    begin = datetime(2024, 3, 1, tzinfo=UTC) + timedelta(seconds=record * ROWS)
    return [
        {"sym": f"s{(record + i) % 50}", value: (record * 7 + i) % 100 / 10, "at": begin + timedelta(seconds=i)}
        for i in range(ROWS)
    ]


def build(home: Path, records: int, count: int) -> Path:
    """The home in a folder, closed; a copy as a killed process leaves it beside it."""
    killed = home.with_name(f"{home.name}-killed")
    with Engine(home=home, live=False, driven=False, rows_per_batch=50_000) as engine:
        engine.execute(STREAMS)
        for record in range(records):
            if record == 0:
                for number in range(count):
                    engine.deploy(text(number), name=f"statement {number}")
            stream = "Quote" if record % 10 == 9 else "Tick"
            engine.load(stream, rows(stream, record))
            if record % PAUSE == PAUSE - 1:
                engine.maintain()
                next(iter(engine.deployments.values())).drain()
                print(f"{record + 1:,} records", file=sys.stderr)
        shutil.copytree(home, killed, ignore=shutil.ignore_patterns("lock"))
    return killed


def opened(home: str, count: int) -> tuple[float, float, float]:
    """Seconds of the opening, by the wall and by the processor, and of the process."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", OPEN, home, str(count)], capture_output=True, text=True, check=True)
    opening, spent = map(float, done.stdout.split())
    return opening, spent, time.perf_counter() - begin


def report(name: str, times: list[tuple[float, float, float]]) -> float:
    opening, spent, whole = (statistics.median(each) for each in zip(*times, strict=True))
    least = min(times)[0]
    print(
        f"{name:16} opening {opening:6.2f} s, least {least:.2f} s, processor {spent:.2f} s; the process {whole:6.2f} s"
    )
    return opening


def in_bucket(home: Path, count: int, rounds: int) -> None:
    from presage.operations.copying import Copy

    names = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "us-east-1"}
    os.environ |= names | {"AWS_ALLOW_HTTP": "true"}
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        os.environ["AWS_ENDPOINT_URL"] = server.stdout.readline().strip()
        begin = time.perf_counter()
        copied = Copy(home, "s3://opening/home").run()
        print(f"copied {copied.files:,} files, {copied.bytes / 1e6:.1f} MB in {time.perf_counter() - begin:.1f} s")
        report("bucket, closed", [opened("s3://opening/home", count) for _ in range(rounds)])
        server.terminate()


def main(arguments: list[str]) -> int:
    numbers = [int(each) for each in arguments if each.isdigit()]
    records, count = (numbers + [RECORDS, STATEMENTS][len(numbers) :])[:2]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(os.environ.get("OPENING_HOME", f"{folder}/home"))
        killed = home.with_name(f"{home.name}-killed") if home.exists() else build(home, records, count)
        closed = report("folder, closed", [opened(str(home), count) for _ in range(ROUNDS)])
        after = []
        for n in range(ROUNDS):
            copy = shutil.copytree(killed, f"{folder}/{n}")
            after.append(opened(copy, count))
            shutil.rmtree(copy)
        report("folder, killed", after)
        if "--bucket" in arguments:
            in_bucket(home, count, 3)
    return 0 if closed <= LIMIT or (records, count) != (RECORDS, STATEMENTS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
