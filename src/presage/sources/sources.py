"""The running sources of an engine, by stream, and their status."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from presage.declarations.permissions import check_permitted
from presage.declarations.sources import check_source
from presage.errors import error
from presage.model.catalog import EventType
from presage.model.paths import ANYWHERE, Roots
from presage.model.permissions import Permissions
from presage.sources.files import FilesSource
from presage.sources.kafka import KafkaSource, Topic
from presage.sources.mqtt import FOLDER, MqttSource
from presage.sources.rate import RateSource
from presage.sources.runner import Reached, SourceRunner
from presage.sources.source import Source, SourceStatus
from presage.sources.spark import Frame, SparkSource
from presage.storage import Log

ROWS_AHEAD = 1_000_000
CHECKPOINTS = "checkpoints"  # the folder in a home with those of Spark's streaming queries
ON_SPARK = (KafkaSource.name, SparkSource.name)


class Session(Protocol):
    def start(self) -> None:
        """Start a Spark session in the background, if there is none."""


class Sources(Mapping[str, SourceStatus]):
    """The sources of an engine, by stream. `types`: the declared types; `resolve`: the real path of a folder in a
    statement, under the roots; `topic` opens a Kafka topic, `frame` a streaming DataFrame, which need the `session`:
    the thread that declares the stream starts it. `permissions`: which variables and
    hosts options may name. Nothing runs before `start`, except frames that a program follows."""

    def __init__(
        self,
        log: Log,
        types: Callable[[], Iterable[EventType]],
        resolve: Callable[[str], Path],
        reached: Reached = lambda: None,
        rows_ahead: int = ROWS_AHEAD,
        topic: Callable[[EventType], Topic] | None = None,
        frame: Callable[[EventType], Frame] | None = None,
        session: Session | None = None,
        roots: Roots = ANYWHERE,
        permissions: Permissions | None = None,
    ) -> None:
        self._log = log
        self._types = types
        self._resolve = resolve
        self._reached = reached
        self._rows_ahead = rows_ahead
        self._topic = topic
        self._frame = frame
        self._attached: dict[str, Callable[[], Frame]] = {}  # by stream: frames that a program follows
        self._session = session
        self._roots = roots
        self._permissions = permissions or Permissions()
        self._running: dict[str, SourceRunner] = {}
        self._lock = threading.Lock()
        self._started = self._closed = False

    def attach(self, event_type: EventType, open_frame: Callable[[], Frame]) -> None:
        """Follow a streaming DataFrame as the source of a stream that has no other."""
        if event_type.has_source or event_type.name in self._attached:
            source = event_type.options["source"] if event_type.has_source else SparkSource.name
            fix = "call unfollow first" if event_type.name in self._attached else "declare another stream for it"
            difference = f" with the source '{source}'"
            raise error("ALREADY_DECLARED", name=event_type.name, kind="stream", difference=difference, fix=fix)
        self._attached[event_type.name] = open_frame
        self.follow()

    def detach(self, stream: str) -> None:
        """Stop following the streaming DataFrame of a stream; no effect if it follows none."""
        if self._attached.pop(stream, None) is not None:
            self.follow()

    def start(self) -> None:
        self._started = True
        self._clear_folders()
        self.follow()

    def _clear_folders(self) -> None:
        """Remove the spools and checkpoints of dropped streams."""
        types = [t.name for t in self._types() if self._log.archive.holds(t.name)]
        declared = {f"{self._log.deliveries.generation(name):014d}" for name in types}
        store = self._log.home.store
        for folder in (self._log.home.path / FOLDER, self._log.home.path / CHECKPOINTS):
            for name in store.names(folder):
                if name not in declared:
                    store.delete_folder(folder / name)

    def follow(self) -> None:
        """Start the sources of newly declared streams, and stop those of dropped ones."""
        wanted = {t.name: t for t in self._types() if t.has_source} if self._started else {}
        attached = {t.name: t for t in self._types() if t.name in self._attached} if not self._closed else {}
        wanted |= {name: replace(t, options={**t.options, "source": SparkSource.name}) for name, t in attached.items()}
        with self._lock:
            gone = [self._running.pop(name) for name in [*self._running] if name not in wanted]
            fresh = {
                name: SourceRunner(t, partial(self._create, t), self._log, self._reached, self._rows_ahead)
                for name, t in wanted.items()
                if name not in self._running
            }
            self._running |= fresh
        if self._session is not None and any(wanted[name].options["source"] in ON_SPARK for name in fresh):
            self._session.start()
        for running in gone:
            running.stop()
        for running in fresh.values():
            running.start()

    def close(self) -> None:
        """Stop all sources; their rows and cursors are in the log."""
        self._started, self._closed = False, True
        self.follow()

    def shown(self) -> dict[str, tuple[str, list[tuple[str, str]]]]:
        """By stream: the state of its source, and its properties for DESCRIBE."""
        return {name: (str(status), status.described()) for name, status in self.items()}

    def is_quiet(self, stream: str) -> bool:
        """Whether a stream without new events really has none: its source polls and finds nothing. A source that is not
        running yet may have any number of events."""
        running = self._running.get(stream)
        if running is None:
            return not any(each.name == stream and each.has_source for each in self._types())
        return running.is_quiet

    def __getitem__(self, stream: str) -> SourceStatus:
        return self._running[stream].status()

    def __iter__(self) -> Iterator[str]:
        return iter([*self._running])

    def __len__(self) -> int:
        return len(self._running)

    def _create(self, event_type: EventType) -> Source:
        kind = event_type.options["source"]
        if event_type.name in self._attached:
            return SparkSource(event_type.name, self._attached[event_type.name])
        check_source(event_type)
        check_permitted(
            f"stream '{event_type.name}'", event_type.options, self._permissions, bounded=self._roots.bounded
        )
        if kind == "files":
            taken = self._log.deliveries.taken(event_type.name, kind)
            return FilesSource(event_type, self._resolve, taken, roots=self._roots)
        if kind == "rate":
            return RateSource(event_type)
        if kind == "kafka" and self._topic is not None:
            return KafkaSource(event_type, self._topic(event_type))
        if kind == "spark" and self._frame is not None:
            return SparkSource(event_type.name, partial(self._frame, event_type))
        if kind == "mqtt":
            generation = self._log.deliveries.generation(event_type.name)
            return MqttSource(event_type, self._log.home, generation, self._resolve, self._permissions)
        what = f"the source '{kind}' of stream '{event_type.name}'"
        fix = f"load its rows with Engine.load(…, source=SourceOffsets('{kind}', …)), or use source = 'files'"
        raise error("UNSUPPORTED", what=what, where="in this version", fix=fix)
