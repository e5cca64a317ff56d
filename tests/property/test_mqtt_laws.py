"""The law of messages: whatever is lost on the line, whatever dies, every message that the broker took is one event, in
order, and the broker is not left with any."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.sources import spool
from presage.storage import Log
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt, MemoryDisk
from unit.sources.brokers import Broker, Listening, payload, stream

ACTIONS = (
    "publish",
    "publish",
    "deliver",
    "write",
    "write",
    "step",
    "step",
    "lose",
    "cut",
    "die",
    "torn",
    "crash",
    "crash",
)
POINTS = (point.STAGED, point.RECORD_WRITTEN, point.COMMITTED, point.TABLE_COMMITTED, point.APPLIED)


class Life:
    """A broker, and a source that listens to it until one of them is cut off."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.folder, self.dice = folder, dice
        self.broker = Broker(window=dice.choice([1, 3, 20]))
        self.disk, self.points = MemoryDisk(), CrashAt()
        self.published = 0
        self.open()

    def open(self) -> None:
        log = Log.open(self.folder / "home", durable=False, points=self.points, tables=self.disk.tables())
        tick = stream(inflight=str(self.broker.window))
        self.world = Listening(self.folder / "home", self.broker, tick, log)
        self.world.client.connect()

    def do(self, action: str) -> None:
        try:
            getattr(self, action)()
        except Crash:
            event("crashed")
            self.die()

    def publish(self) -> None:
        for _ in range(self.dice.randint(1, 4)):
            # Readings that do not change, too: the same text is not the same message.
            self.broker.publish(payload(self.published // 3))
            self.published += 1

    def deliver(self) -> None:
        self.broker.deliver()

    def write(self) -> None:
        self.world.write()

    def step(self) -> None:
        self.world.step()

    def lose(self) -> None:
        """What is acknowledged now does not arrive, and then the line is cut."""
        self.broker.lose_acknowledgements = True
        self.deliver()
        self.write()
        self.broker.lose_acknowledgements = False
        self.cut()

    def cut(self) -> None:
        self.broker.disconnect()
        self.world.client.connect()

    def die(self) -> None:
        self.points.arm()
        self.world.die()
        self.open()

    def torn(self) -> None:
        """It dies in the middle of writing: what is not whole was not acknowledged."""
        self.deliver()
        with patch.object(self.world.source._receiver, "_acknowledge", lambda packet: None):
            before = self.world.source._spool.bytes
            self.write()
            after = self.world.source._spool.bytes
        path = max((self.folder / "home" / "spool").rglob("*.spool"), default=None)
        lost = self.dice.randint(0, after - before)
        self.world.die()
        if path is None:  # nothing was ever written
            self.open()
            return
        with open(path, "r+b") as file:
            file.truncate(max(0, path.stat().st_size - lost))
        self.open()

    def crash(self) -> None:
        self.points.arm(self.dice.choice(POINTS), self.dice.randint(1, 2))

    def finish(self) -> None:
        self.points.arm()
        while self.broker.queue or self.broker.sent:
            self.broker.deliver()
            self.world.write()
        self.world.write()
        while self.world.step() is not None:
            pass


@settings(max_examples=40)
@given(st.lists(st.sampled_from(ACTIONS), max_size=40), st.integers(0, 2**32))
def test_every_message_is_one_event_in_order_whatever_is_lost_or_dies(actions: list[str], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(spool, "SEGMENT_BYTES", 300):
        life = Life(Path(folder), Random(seed))
        for action in actions:
            life.do(action)
        life.finish()
        assert life.world.events() == [x // 3 for x in range(life.published)]
        assert life.broker.sent == {}
        life.world.close()
