"""Takeover: seconds from the end of the process that has a home to the first row of a standby.

    python benchmarks/takeover.py [TAKEOVERS] [STATEMENTS]

The holder loads 50 events a second into a home with 50 deployed statements, as `tests/integration/taking_over.py` does;
a standby waits. The holder is killed, or told to leave; the time is that from the kill, or from the release, to the
first new row that is visible. In a folder, and in a bucket of an S3 server on the loopback, if `moto` is installed.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

SERVER = """
import sys
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "hush",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


@contextmanager
def bucket() -> Iterator[str]:
    """The address of an empty bucket."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        os.environ.update(KEYS, AWS_ENDPOINT_URL=server.stdout.readline().decode().strip())
        import boto3

        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="takeovers")
        yield "s3://takeovers"
        server.stdin.close()


def measure(home: str, folder: Path, how: str, takeovers: int, statements: int) -> list[float]:
    from integration.test_takeover import Member, take_over

    (folder / how).mkdir()
    _prepare(home, statements)
    members, seconds = [Member(home, folder / how)], list[float]()
    try:
        members[0].wait_for("row")
        for _ in range(takeovers):
            members.append(Member(home, folder / how))
            members[-1].wait_for("standing-by")
            time.sleep(5.0)  # it reads the home
            seconds.append(take_over(members[-2], members[-1], how))
    finally:
        for member in members:
            member.close()
    return seconds


def _prepare(home: str, statements: int) -> None:
    import presage
    from integration.taking_over import STREAM

    with presage.Engine(home=home) as engine:
        engine.execute(STREAM)
        for i in range(statements // 2):
            window = f"SELECT sym, sum(n) AS total FROM Tick#length({3 + i}) WHERE n % 50 = {i} GROUP BY sym"
            engine.deploy(window, name=f"window-{i}")
            pattern = f"[EVERY a=Tick(n % 50 = {i}) -> b=Tick(n % 50 = {i + 1})]"
            engine.deploy(f"SELECT a.n AS first, b.n AS second FROM PATTERN {pattern}", name=f"pattern-{i}")


def main(takeovers: int = 3, statements: int = 50) -> None:
    print(f"seconds to the first new row, {statements} statements, {takeovers} takeovers: median, most")
    with tempfile.TemporaryDirectory() as folder:
        for how in ("kill", "leave"):
            place = Path(folder) / f"folder-{how}"
            place.mkdir()
            _tell("folder", how, measure(str(place / "home"), place, how, takeovers, statements))
        if importlib.util.find_spec("moto") is not None:
            with bucket() as address:
                for how in ("kill", "leave"):
                    place = Path(folder) / f"bucket-{how}"
                    place.mkdir()
                    _tell("bucket", how, measure(f"{address}/{how}", place, how, takeovers, statements))


def _tell(where: str, how: str, seconds: list[float]) -> None:
    print(f"  {where}, {how}: {statistics.median(seconds):.1f} s, {max(seconds):.1f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
