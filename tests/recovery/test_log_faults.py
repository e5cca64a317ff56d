"""Every request of a life in a bucket fails in every way: clients are told the truth, nothing is lost or repeated."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from presage.errors import PresageError
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.failures import KEPT, NOT_DONE
from recovery.crashing import SECOND, Crash, CrashAt, MemoryDisk, Place, contents, crash, row, sequence_numbers, stream
from recovery.faulty_store import ADDRESS, BEFORE, FAULTS, Bucket, bucket_in_memory

TICK, OTHER = stream(), stream("Other")
SOAK = settings.get_current_profile_name() == "soak"
SEVERAL = 20_000 if SOAK else 1_000  # lives with several faults
TRIES = 50  # of a client, until it is answered


def load(event_type: Any, key: str, *seconds: int) -> Callable[[Log], object]:
    rows = [row(second, second) for second in seconds] + [{"x": "one", "at": "2024-01-01"}] * (len(seconds) % 2)
    return lambda log: log.append(event_type, rows, once=key)


def declare(log: Log) -> None:
    if "Other" not in log.archive.streams():
        log.append_catalog("create", "stream", "Other", "…", creates=[OTHER])


# Each may be done again without effect.
LIFE: list[Callable[[Log], object]] = [
    load(TICK, "a", 20, 30, 5),
    declare,
    load(OTHER, "b", 1, 2),
    lambda log: log.append_watermark("Tick", 1_704_067_200_000_000 + 40 * SECOND),
    load(TICK, "c", 35, 50),
    load(OTHER, "d", 3),
    load(TICK, "e", 60),
]


@dataclass
class Client:
    """Does one action after the other, and each again until it succeeds. What it is told must be true."""

    place: Place
    bucket: Bucket
    points: CrashAt
    told: int = 0
    opened: int = 0

    def live(self) -> dict[str, Any]:
        log = self.open()
        for action in LIFE:
            log = self.do(log, action)
        try:
            log.close()
        except PresageError as problem:  # a lease that an earlier process gave up may arrive, and seem to be another's
            assert problem.code in ("STORAGE_FAILED", "HOME_OVERTAKEN"), problem
        self.bucket.store.arrive()
        self.bucket.store.faults.clear()
        self.bucket.store.read_faults.clear()
        with self.open() as log:
            assert sequence_numbers(log) == list(range(1, log.position + 1))
            return contents(log)

    def open(self) -> Log:
        for _ in range(TRIES):
            self.opened += 1
            try:
                return self.place.open(self.points)
            except PresageError as problem:
                assert problem.code in ("STORAGE_FAILED", "HOME_LOCKED"), problem
            except Crash:
                self.points.arm()
        raise AssertionError("the home does not open any more")

    def do(self, log: Log, action: Callable[[Log], object]) -> Log:
        before = self.found()
        for _ in range(TRIES):
            try:
                action(log)
            except PresageError as problem:
                self.told += 1
                self.check(problem, before)
                if problem.code == "STORAGE_FAILED":
                    continue
                crash(log)
                log = self.open()
            except Crash:
                self.points.arm()
                crash(log)
                log = self.open()
            else:
                return log
        raise AssertionError("nothing can be written any more")

    def found(self) -> dict[str, Any] | None:
        """What a process would find that opened the home now, once all requests have arrived; None if it may not."""
        other = Place(ADDRESS, self.bucket, copy.deepcopy(self.place.disk))
        kept, self.bucket.store = self.bucket.store, self.bucket.store.copied()
        try:
            with other.open() as log:
                return contents(log)
        finally:
            self.bucket.store = kept

    def check(self, problem: PresageError, before: dict[str, Any] | None) -> None:
        if NOT_DONE in problem.fix:
            assert self.found() == before
        elif KEPT in problem.fix:
            assert self.found() != before


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with bucket_in_memory() as bucket, patch.object(committer, "RECORDS_PER_HEAD", 3):
        yield bucket


@pytest.fixture(scope="module", params=["tables in memory", "Delta tables"])
def begun(request: pytest.FixtureRequest, bucket: Bucket) -> tuple[Place, dict[str, Any], int, int]:
    """A home, what an undisturbed life leaves there, and how many requests it takes."""
    place = Place(ADDRESS, bucket, MemoryDisk() if request.param == "tables in memory" else None)
    with place.open() as log:
        log.append_catalog("create", "stream", "Tick", "…", creates=[TICK])
    kept = place.copied(None)
    other = kept.copied(None).enter()
    found = Client(other, bucket, CrashAt()).live()
    return kept, found, bucket.store.acts, bucket.store.reads


def live(begun: tuple[Place, dict[str, Any], int, int], bucket: Bucket, faults: dict[int, str], reads: set[int] = frozenset(), dies: tuple[Any, ...] = ()) -> Client:  # fmt: skip
    kept, expected, *_ = begun
    place = kept.copied(None).enter()
    bucket.store.faults, bucket.store.read_faults = dict(faults), set(reads)
    client = Client(place, bucket, CrashAt(*dies))
    assert client.live() == expected, (faults, reads, dies)
    return client


def test_whichever_request_fails_in_whatever_way_clients_are_told_the_truth(begun: Any, bucket: Bucket) -> None:
    told = sum(live(begun, bucket, {act: fault}).told for act in range(1, begun[2] + 1) for fault in FAULTS)
    assert told > begun[2]


def test_whichever_reading_fails_nothing_is_lost(begun: Any, bucket: Bucket) -> None:
    for read in range(1, begun[3] + 1):
        live(begun, bucket, {}, {read})


def test_throttling_for_a_while_loses_nothing(begun: Any, bucket: Bucket) -> None:
    for first in range(1, begun[2] + 1, 3):
        live(begun, bucket, dict.fromkeys(range(first, first + 9), BEFORE))


def test_dying_at_any_point_with_any_fault_loses_nothing(begun: Any, bucket: Bucket) -> None:
    dice = random.Random(20240101)
    acts = range(1, begun[2] + 1)
    few = acts if begun[0].disk else acts[::8]
    for act in few:
        for fault in FAULTS:
            for where in point.POINTS:
                live(begun, bucket, {act: fault}, dies=(where, dice.randint(1, 8)))


def test_a_thousand_lives_with_several_faults_lose_nothing(begun: Any, bucket: Bucket) -> None:
    dice = random.Random(20240102)
    for _ in range(SEVERAL if begun[0].disk else SEVERAL // 10):
        faults = {dice.randint(1, begun[2]): dice.choice(FAULTS) for _ in range(dice.randint(2, 6))}
        reads = {dice.randint(1, begun[3]) for _ in range(dice.randint(0, 3))}
        live(begun, bucket, faults, reads, dice.choice([(), (dice.choice(point.POINTS), dice.randint(1, 9))]))
