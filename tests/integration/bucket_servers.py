"""Servers of buckets on the loopback, and the environment by which clients find them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from integration.install import go_program, npm_program

BUCKET = "plant-data"
KEY, SECRET = "presage-key", "hush-hush-hush"
# Those of the emulator, which everybody knows: https://learn.microsoft.com/azure/storage/common/storage-use-azurite
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
STARTS_WITHIN = 30.0  # seconds


@dataclass(frozen=True)
class BucketServer:
    name: str
    endpoint: str
    scheme: str
    environment: dict[str, str]
    delete: Callable[[str], None]  # an object of the bucket, by its key, past any client of ours

    @property
    def bucket(self) -> str:
        return f"{self.scheme}://{BUCKET}"


def s3_environment(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }


@contextmanager
def moto() -> Iterator[BucketServer]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield _s3("moto", f"http://{host}:{port}")
    finally:
        server.stop()


@contextmanager
def versitygw(folder: Path) -> Iterator[BucketServer]:
    """It checks signatures, too."""
    program = go_program("versitygw")
    if program is None:
        pytest.skip("versitygw needs Go, which is not installed")
    port, data, notes = free_port(), folder / "objects", folder / "notes"
    data.mkdir()
    notes.mkdir()
    command = [program, "--port", f"127.0.0.1:{port}", "--quiet", "posix", "--sidecar", notes, data]
    environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with _running(command, port, environment):
        yield _s3("versitygw", f"http://127.0.0.1:{port}")


@contextmanager
def azurite(folder: Path) -> Iterator[BucketServer]:
    program = npm_program("azurite", "azurite-blob")
    if program is None:
        pytest.skip("Azurite needs npm, which is not installed")
    port = free_port()
    # The version of the protocol of a client may be newer than the emulator.
    more = ["--disableTelemetry", "--skipApiVersionCheck", "--silent", "--location", folder]
    command = [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), *more]
    endpoint = f"http://127.0.0.1:{port}"
    with _running(command, port, dict(os.environ)):
        _azure(endpoint, "PUT", BUCKET, "restype:container")
        environment = {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": endpoint}
        environment["AZURE_STORAGE_ACCOUNT_NAME"], environment["AZURE_STORAGE_ACCOUNT_KEY"] = ACCOUNT, ACCOUNT_KEY
        yield BucketServer(
            "azurite", endpoint, "az", environment, lambda key: _azure(endpoint, "DELETE", f"{BUCKET}/{key}")
        )


@contextmanager
def reached(server: BucketServer) -> Iterator[BucketServer]:
    """Clients of this process and of its children find the server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


def _s3(name: str, endpoint: str) -> BucketServer:
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket=BUCKET)
    delete: Callable[[str], None] = lambda key: client.delete_object(Bucket=BUCKET, Key=key) and None  # noqa: E731
    return BucketServer(name, endpoint, "s3", s3_environment(endpoint), delete)


def _azure(endpoint: str, method: str, path: str, parameter: str = "") -> None:
    """A request with a signature: obstore creates no containers."""
    head = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    heads = "".join(f"{name}:{value}\n" for name, value in sorted(head.items()))
    text = f"{method}{chr(10) * 12}{heads}/{ACCOUNT}/{ACCOUNT}/{path}" + (f"\n{parameter}" if parameter else "")
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    head["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    query = "?" + parameter.replace(":", "=") if parameter else ""
    request = urllib.request.Request(f"{endpoint}/{ACCOUNT}/{path}{query}", method=method, headers=head)
    urllib.request.urlopen(request).close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str | Path], port: int, environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen([str(part) for part in command], env=environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)
