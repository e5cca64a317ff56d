"""A bucket in memory behind the client of buckets, with every request counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import obstore
from obstore.store import MemoryStore

from presage.storage import home_lease, object_store
from presage.storage.object_store import ObjectStore

ADDRESS = "s3://memory/home"


class Requests:
    """In place of obstore's module: passes requests on and notes them. `seconds`: what each takes. `fail`: called with
    the act and the key before a request; it may raise."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.fail: Callable[[str, str], None] = lambda act, key: None
        self._noted: list[tuple[str, str, float, float]] = []  # act, key, begin, end
        self._lock = threading.Lock()

    def __getattr__(self, act: str) -> Any:
        function = getattr(obstore, act)

        def request(client: Any, key: Any, *args: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            self.fail(act, str(key))
            time.sleep(self.seconds)
            try:
                return function(client, key, *args, **named)
            finally:
                with self._lock:
                    self._noted.append((act, str(key), begin, time.perf_counter()))

        return request

    def take(self) -> list[tuple[str, str]]:
        """The acts and keys of the requests since the last call."""
        with self._lock:
            noted, self._noted = self._noted, []
        return [(act, key) for act, key, _, _ in noted]

    def rounds(self) -> int:
        """How many of the requests since the last call went one after another. Those that nobody waits for are left
        out: of Delta logs, and deletions."""
        with self._lock:
            noted, self._noted = self._noted, []
        waited = [one for one in noted if one[0] != "delete" and "_delta_log" not in one[1]]
        last, rounds = 0.0, 0
        for _, _, begin, end in sorted(waited, key=lambda one: one[2]):
            if begin >= last:
                last, rounds = end, rounds + 1
        return rounds


@contextmanager
def counted_bucket() -> Iterator[Requests]:
    """Let addresses lead to one bucket in memory. Leases end at once, and no heartbeat counts."""
    memory, requests = MemoryStore(), Requests()
    with (
        patch.object(ObjectStore, "client", memory),
        patch.object(object_store, "obstore", requests),
        patch.object(home_lease, "SECONDS", 0.0),
        patch.object(home_lease, "BEAT", 1e6),
    ):
        yield requests
