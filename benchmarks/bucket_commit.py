"""What an append and a live row cost in a bucket, as round trips of its server, and in requests and dollars.

The server is moto's S3 on the loopback, in a process of its own, as it is and behind a proxy that delays each request.
The units, in the same run and in turn: one put-if-absent of an object of an append's size, and the same append and
live row in a home in a folder. So "append" is the time of an append in puts, and "load to row" is the time from a load
to its row, less that of the folder, in puts. Then events arrive at a steady rate, from one and from several threads,
and the requests of that time are counted by the proxy, with S3's list price on paper.
It needs the packages of `make integration`.
Run as: python benchmarks/bucket_commit.py [appends] [delay in milliseconds] [seconds of the steady load]
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import boto3
import numpy as np
import pyarrow as pa
from live_latency import BEGIN, STATEMENT, Rows, tick

from presage import Engine
from presage.storage.object_store import open_bucket

BUCKET = "benchmark"
MOST_APPEND, MOST_ROW = 2.0, 5.0  # round trips
RATE = 1_000  # events a second
CREATE = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at"
# Dollars for a thousand requests of S3 Standard in us-east-1, from its price list in 2025; deletions are free.
PRICES = {"PUT": 0.005, "LIST": 0.005, "GET": 0.0004, "HEAD": 0.0004}
SECONDS_PER_MONTH = 30 * 24 * 3600
SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


class Proxy:
    """Passes connections on, delays each request, and counts them by method. One thread for each connection."""

    def __init__(self, port: int) -> None:
        self.seconds = 0.0
        self.requests: Counter[str] = Counter()
        self._target = port
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._socket.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = socket.create_connection(("127.0.0.1", self._target))
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for work in ((self._requests, client, server), (self._replies, server, client)):
                threading.Thread(target=work[0], args=work[1:], daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        """Requests one by one: a head, and a body of the length that it names."""
        with client.makefile("rb") as stream:
            while line := stream.readline():
                head, length = [line], 0
                while (header := stream.readline()) not in (b"\r\n", b""):
                    head.append(header)
                    if header.lower().startswith(b"content-length:"):
                        length = int(header.partition(b":")[2])
                body = stream.read(length)
                method, target = line.decode().split(" ")[:2]
                self.requests["LIST" if method == "GET" and "list-type" in target else method] += 1
                time.sleep(self.seconds)
                server.sendall(b"".join([*head, b"\r\n", body]))
        server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _replies(server: socket.socket, client: socket.socket) -> None:
        while data := server.recv(1 << 16):
            client.sendall(data)
        client.close()


@contextmanager
def bucket() -> Iterator[Proxy]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([sys.executable, "-c", SERVER], text=True, **pipes)
    assert server.stdout is not None
    try:
        proxy = Proxy(int(server.stdout.readline()))
        address = f"http://127.0.0.1:{proxy.port}"
        os.environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        os.environ |= {"AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}
        boto3.client("s3", region_name="us-east-1", endpoint_url=address).create_bucket(Bucket=BUCKET)
        yield proxy
    finally:
        server.communicate()


class Home:
    """An engine with a deployed statement, and the times of its loads and rows."""

    def __init__(self, address: str) -> None:
        self.engine = Engine(home=address)
        self.engine.execute(CREATE)
        self._rows, self._next = Rows(), 0
        self.statement = self.engine.deploy(STATEMENT, name="average")
        self.statement.subscribe(self._rows.seen)

    def load(self) -> tuple[float, float]:
        """Milliseconds of an append, and from its beginning to its row."""
        start = time.perf_counter()
        self.engine.load("Tick", tick(self._next))
        appended = (time.perf_counter() - start) * 1e3
        self._next += 1
        return appended, self._rows.wait(start)


def put(size: int) -> Callable[[int], float]:
    """Milliseconds of one put-if-absent."""
    store, folder = open_bucket(f"s3://{BUCKET}/puts-{time.monotonic_ns()}")
    data = os.urandom(size)

    def one(number: int) -> float:
        start = time.perf_counter()
        store.create(folder / str(number), data)
        return (time.perf_counter() - start) * 1e3

    return one


def latency(proxy: Proxy, folder: str, appends: int, delay: float) -> bool:
    proxy.seconds = 0.0
    home, local = Home(f"s3://{BUCKET}/latency-{delay:g}"), Home(f"{folder}/latency-{delay:g}")
    for _ in range(20):
        home.load()
        local.load()
    proxy.seconds = delay / 1e3
    one = put(2_000)
    taken = np.array([[one(number), *home.load(), *local.load()] for number in range(appends)])
    for each in (home, local):
        each.engine.close()
    print(f"each request delayed by {delay:g} ms; {appends} of each, in turn; milliseconds")
    names = ("put-if-absent", "append", "load to row", "folder: append", "… to row")
    for name, column in zip(names, taken.T, strict=True):
        least, p50, p99 = np.percentile(column, [0, 50, 99])
        print(f"  {name:<16} least {least:7.1f}   p50 {p50:7.1f}   p99 {p99:7.1f}")
    well = True
    for name, percent in (("least", 0), ("p50", 50)):
        unit, append, row, alone, folder_row = np.percentile(taken, percent, axis=0)
        trips, more = append / unit, (row - folder_row) / unit
        # An append computes, too, about as long as in a folder: that is no round trip.
        well = trips <= MOST_APPEND + alone / unit and more <= MOST_ROW
        print(f"  {name:<6} append {trips:.2f} puts, of which {alone / unit:.2f} is the folder's time", end="")
        print(f"   load to row, less the folder's {more:.2f}")
    print(f"  within {MOST_APPEND:g} puts and the folder's time, and {MOST_ROW:g}: {'yes' if well else 'NO'}")
    # Without a delay the interpreter's lock takes longer than a request: only reported.
    return well or delay == 0


def steady(proxy: Proxy, threads: int, events: int, seconds: float, delay: float) -> None:
    """`events` in each append, so that all threads append `RATE` events a second."""
    proxy.seconds = delay / 1e3
    home = Home(f"s3://{BUCKET}/steady-{threads}-{events}")
    pause, begin = threads * events / RATE, time.perf_counter()
    before = Counter(proxy.requests)

    def rows(first: int) -> pa.Table:
        times = [BEGIN + number * 1_000 for number in range(first, first + events)]
        names, prices = [f"SYM{n % 10}" for n in range(events)], [100.0 + n for n in range(events)]
        return pa.table({"sym": names, "price": prices, "at": pa.array(times, pa.timestamp("us", "UTC"))})

    def run(thread: int) -> float:
        turn, behind = 0, 0.0
        while (due := turn * pause + thread * pause / threads) < seconds:
            time.sleep(max(0.0, begin + due - time.perf_counter()))
            home.engine.load("Tick", rows((turn * threads + thread) * events))
            turn, behind = turn + 1, max(behind, time.perf_counter() - begin - due)
        return behind

    with ThreadPoolExecutor(threads) as pool:
        late = max(pool.map(run, range(threads)))
    home.statement.drain()
    taken = time.perf_counter() - begin
    made = Counter(proxy.requests) - before
    appends = round(seconds / pause) * threads
    home.engine.close()
    dollars = sum(made[method] * price / 1_000 for method, price in PRICES.items()) / taken * SECONDS_PER_MONTH
    shown = ", ".join(f"{made[method] / taken:.1f} {method}" for method in sorted(made))
    print(f"  {threads:>2} threads, {events:>4} events an append: {appends * events / taken:6.0f} events/s", end="")
    print(f"; a second {shown}; {sum(made.values()) / appends:.1f} requests an append", end="")
    print(f"; behind by {late:.2f} s at most; {dollars:,.0f} dollars a month")


def main(appends: int = 60, delay: float = 20.0, seconds: float = 10.0) -> int:
    with tempfile.TemporaryDirectory() as folder, bucket() as proxy:
        well = [latency(proxy, folder, appends, each) for each in (0.0, delay)]
        print(f"steady load of {RATE:,} events a second with a live statement, each request delayed by {delay:g} ms")
        for threads, events in ((1, 1_000), (1, 100), (8, 100), (16, 25)):
            steady(proxy, threads, events, seconds, delay)
    return 0 if all(well) else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(*(kind(text) for kind, text in zip((int, float, float), given, strict=False))))
