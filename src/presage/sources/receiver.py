"""The receiver of MQTT messages: spools each message once, and then acknowledges it.

Messages that arrive during a flush are written together in the next one. A message that is redelivered, because its
acknowledgement was lost, is recognized by its packet number and content among the last `inflight` messages, which the
spool holds too. A broker never has more messages than that in flight.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from presage.sources.spool import SESSION, Message, Spool

LOOK_SECONDS = 0.2
TRY_AGAIN_SECONDS = 1.0


@dataclass(frozen=True)
class Received:
    """A message as it arrived. `again`: the broker's DUP flag. `connection`: the number of the connection."""

    message: Message
    again: bool
    connection: int


class Receiver:
    """`acknowledge` tells the broker that the message of a packet number is durable. The thread of the client calls
    `take` and `begin`, another thread calls `write`."""

    def __init__(self, spool: Spool, acknowledge: Callable[[int], None], inflight: int) -> None:
        self._spool = spool
        self._acknowledge = acknowledge
        self._inflight = inflight
        self._changed = threading.Condition()
        self._waiting: list[Received] = []
        self._connection = 0
        self.why = ""
        self.lost = 0  # messages that were dropped
        # By packet number: digests of messages whose acknowledgement may have been lost.
        self._known: OrderedDict[int, bytes] = OrderedDict()
        for _, message in spool.last(inflight):
            self._remember(message)

    def begin(self, same_session: bool) -> None:
        """A connection begins. In a new session, packet numbers start again."""
        with self._changed:
            self._connection += 1
            if not same_session:
                self._waiting.append(Received(SESSION, False, self._connection))
            self._changed.notify_all()

    def take(self, message: Message, again: bool) -> None:
        with self._changed:
            # Unacknowledged messages are limited by the broker; messages of QoS 0 are not.
            if self.why and not message.packet and len(self._waiting) >= self._inflight:
                self.lost += 1
                return
            self._waiting.append(Received(message, again, self._connection))
            self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def write(self, patience: float = LOOK_SECONDS) -> bool:
        """Spool and acknowledge the messages that have arrived; whether there were any."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(patience)
            waiting = [*self._waiting]
        if not waiting:
            return False
        if self._spool.is_full:
            self.why = "the spool is full: statements have messages to process first, and no more are acknowledged"
            return False
        before = self._known.copy()
        fresh = [received.message for received in waiting if self._is_new(received)]
        try:
            if fresh:
                self._spool.append(fresh)
        except BaseException:
            self._known = before
            raise
        self.why = ""
        with self._changed:
            del self._waiting[: len(waiting)]
            connection = self._connection
        for received in waiting:
            # After a reconnect the packet number may belong to another message: the broker sends this one again.
            if received.message.packet and received.connection == connection:
                self._acknowledge(received.message.packet)
        return True

    def _is_new(self, received: Received) -> bool:
        message = received.message
        if received.again and message.packet and self._known.get(message.packet) == _digest(message):
            return False
        self._remember(message)
        return True

    def _remember(self, message: Message) -> None:
        if not message.topic:
            self._known.clear()
        elif message.packet:
            self._known.pop(message.packet, None)
            self._known[message.packet] = _digest(message)
            while len(self._known) > self._inflight:
                self._known.popitem(last=False)


def _digest(message: Message) -> bytes:
    return hashlib.blake2b(message.topic.encode() + b"\0" + message.payload, digest_size=16).digest()
