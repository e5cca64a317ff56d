"""A Mosquitto broker on the loopback: started, stopped, killed and started again by a test; published to by another."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest

PROGRAM = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
CONFIGURATION = """
listener {port} 127.0.0.1
persistence true
persistence_location {folder}/
autosave_interval 1
max_queued_messages 100000
{more}
"""


class Mosquitto:
    """What it has not delivered outlives it, if it is stopped and not killed."""

    def __init__(self, folder: Path, more: str = "allow_anonymous true") -> None:
        self.port = _free_port()
        self._path = folder / "mosquitto.conf"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        self._path.write_text(CONFIGURATION.format(port=self.port, folder=folder, more=f"user root\n{more}"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen([PROGRAM, "-c", str(self._path)], stdout=quiet, stderr=quiet)
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self._process.poll() is None, "mosquitto does not start"
                assert time.monotonic() < end
                time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def publish(self, messages: list[tuple[str, bytes]], retain: bool = False, **login: Any) -> None:
        """With QoS 1, in order; returns when the broker has them."""
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        if login:
            client.username_pw_set(**login)
        connected = threading.Event()
        client.on_connect = lambda *_: connected.set()
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        assert connected.wait(20)
        sent = [client.publish(topic, body, qos=1, retain=retain) for topic, body in messages]
        for each in sent:
            each.wait_for_publish(60)
        client.disconnect()
        client.loop_stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    if not Path(PROGRAM).exists():
        pytest.skip("mosquitto is not installed: apt-get install -y mosquitto")
    broker = Mosquitto(tmp_path / "mosquitto")
    broker.start()
    yield broker
    broker.stop()
