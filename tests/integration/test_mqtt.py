"""The `mqtt` source and a real Mosquitto: stopped in mid-stream, poison, a killed engine, wrong credentials."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from integration.mosquitto import Mosquitto
from presage.model.catalog import EventType
from presage.sources import Sources
from presage.storage import Log
from unit.sources.brokers import ALLOWED, payload, stream

LIVES = 6


def declared(broker: Mosquitto, **options: str) -> EventType:
    return stream(**{"host": "127.0.0.1", "port": str(broker.port), "client": "presage-test", **options})


class Engine:
    """A home whose stream is filled by a broker, without Spark."""

    def __init__(self, home: Path, tick: EventType) -> None:
        self.log = Log.open(home)
        if "Tick" not in self.log.archive.streams():
            self.log.create_stream(tick)
        self.sources = Sources(self.log, lambda: [tick], Path, permissions=ALLOWED)
        self.sources.start()

    def connected(self) -> None:
        until(lambda: self.sources["Tick"].state == "running")

    def events(self) -> list[int]:
        archive = self.log.archive
        return [row["x"] for row in archive.read_arrow(archive.snapshot("Tick")).to_pylist()]

    def wait_for(self, rows: int) -> None:
        until(lambda: self.sources["Tick"].rows >= rows)

    def close(self) -> None:
        self.sources.close()
        self.log.close()


def until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def messages(first: int, count: int) -> list[tuple[str, bytes]]:
    return [(f"t/{x % 3}", payload(x)) for x in range(first, first + count)]


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_messages_become_events_in_order_also_those_of_a_time_without_us(
    mosquitto: Mosquitto, tmp_path: Path, version: str
) -> None:
    engine = Engine(tmp_path / "home", declared(mosquitto, version=version))
    engine.connected()
    mosquitto.publish(messages(0, 1_000))
    engine.wait_for(1_000)
    engine.close()
    mosquitto.publish(messages(1_000, 500))
    engine = Engine(tmp_path / "home", declared(mosquitto, version=version))
    engine.wait_for(1_500)
    assert engine.events() == list(range(1_500))
    engine.close()


def test_a_broker_that_is_away_at_the_start_and_in_mid_stream_is_waited_for(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    mosquitto.stop()
    engine = Engine(tmp_path / "home", declared(mosquitto))
    until(lambda: "cannot be reached" in engine.sources["Tick"].why)
    assert engine.sources["Tick"].state == "waiting"
    mosquitto.start()
    engine.connected()
    mosquitto.publish(messages(0, 200))
    engine.wait_for(200)
    mosquitto.stop()
    until(lambda: engine.sources["Tick"].state == "waiting")
    mosquitto.start()
    mosquitto.publish(messages(200, 200))
    engine.wait_for(400)
    assert engine.events() == list(range(400))
    engine.close()


def test_poison_is_rejected_and_the_rest_goes_on(mosquitto: Mosquitto, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "home", declared(mosquitto))
    engine.connected()
    mosquitto.publish([*messages(0, 2), ("t/bad", b"\xff\x00"), ("t/bad", b"{"), ("t/bad", b""), *messages(2, 2)])
    engine.wait_for(4)
    until(lambda: engine.sources["Tick"].rejected == 3)
    assert engine.events() == [0, 1, 2, 3]
    engine.close()


def test_wrong_credentials_are_named_and_right_ones_are_taken_without_being_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mosquitto: Mosquitto
) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(folder / "users"), "me", "right-one"], check=True)
    broker = Mosquitto(folder, f"allow_anonymous false\npassword_file {folder / 'users'}")
    broker.start()
    options = {"username": "env:MQTT_USER", "password": "env:MQTT_PASSWORD"}
    monkeypatch.setenv("MQTT_USER", "me")
    monkeypatch.setenv("MQTT_PASSWORD", "wrong-one")
    engine = Engine(tmp_path / "home", declared(broker, **options))
    until(lambda: "refuses the connection" in engine.sources["Tick"].why)
    assert "wrong-one" not in engine.sources["Tick"].why
    engine.close()
    monkeypatch.setenv("MQTT_PASSWORD", "right-one")
    engine = Engine(tmp_path / "home", declared(broker, **options))
    engine.connected()
    broker.publish(messages(0, 3), username="me", password="right-one")
    engine.wait_for(3)
    engine.close()
    broker.stop()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_session_whose_subscription_never_came_gets_it(version: str, mosquitto: Mosquitto, tmp_path: Path) -> None:
    mosquitto.publish([("t/kept", payload(0))], retain=True)
    made, name = mqtt.CallbackAPIVersion.VERSION2, "presage-test"
    if version == "5":
        session = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        session.SessionExpiryInterval = 600
        died = mqtt.Client(made, client_id=name, protocol=mqtt.MQTTv5)
        died.connect("127.0.0.1", mosquitto.port, clean_start=False, properties=session)
    else:
        died = mqtt.Client(made, client_id=name, clean_session=False, protocol=mqtt.MQTTv311)
        died.connect("127.0.0.1", mosquitto.port)
    died.loop_start()
    until(died.is_connected)
    died.disconnect()
    died.loop_stop()
    for count in (1, 2):  # what is retained comes once
        engine = Engine(tmp_path / "home", declared(mosquitto, version=version))
        engine.connected()
        mosquitto.publish(messages(count, 1))
        engine.wait_for(count + 1)
        time.sleep(0.3)
        assert engine.events() == list(range(count + 1))
        engine.close()


PROGRAM = """
import sys, time
from pathlib import Path
from integration.test_mqtt import Engine
from unit.sources.brokers import stream

tick = stream(host="127.0.0.1", port=sys.argv[2], client="presage-test")
engine = Engine(Path(sys.argv[1]), tick)
engine.connected()
print("begun", flush=True)
time.sleep(600)
"""


def test_killed_again_and_again_while_messages_come_it_has_each_of_them_once(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    chance = random.Random(5)
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")])
    published = 0
    for _ in range(LIVES):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path / "home"), str(mosquitto.port)],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        mosquitto.publish(messages(published, 400))
        published += 400
        time.sleep(chance.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    engine = Engine(tmp_path / "home", declared(mosquitto))
    engine.wait_for(published)
    time.sleep(0.5)
    assert engine.events() == list(range(published))
    engine.close()
