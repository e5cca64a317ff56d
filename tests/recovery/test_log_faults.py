"""Every request of a life in a bucket fails in every way: clients are told the truth, nothing is lost or repeated."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from presage.errors import PresageError
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.failures import KEPT, NOT_DONE, UNKNOWN
from recovery.crashing import SECOND, Crash, CrashAt, MemoryDisk, Place, contents, crash, row, sequence_numbers, stream
from recovery.faulty_store import ADDRESS, BEFORE, FAULTS, Bucket, FaultyStore, bucket_in_memory

TICK, OTHER = stream(), stream("Other")
SOAK = settings.get_current_profile_name() == "soak"
Kept = tuple[FaultyStore, MemoryDisk | None]
SEVERAL = 20_000 if SOAK else 200  # lives with several faults
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


def expect(problem: PresageError, *codes: str) -> None:
    assert problem.code in codes, problem


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
        self.points.arm()
        try:
            log.close()
        except PresageError as problem:
            # A lease that an earlier process gave up may arrive, and seem to be another's.
            expect(problem, "STORAGE_FAILED", "HOME_OVERTAKEN")
        except Crash:  # of the thread that updates tables
            crash(log)
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
                expect(problem, "STORAGE_FAILED", "HOME_LOCKED")
            except Crash:
                self.points.arm()
        raise AssertionError("the home does not open any more")

    def do(self, log: Log, action: Callable[[Log], object]) -> Log:
        before, is_sure = self.kept(), True
        for _ in range(TRIES):
            try:
                action(log)
            except PresageError as problem:
                self.told += 1
                is_sure = is_sure and UNKNOWN not in problem.fix
                if is_sure:
                    self.check(problem, before)
                is_sure = is_sure and KEPT not in problem.fix  # from now on it is done by an earlier try
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

    def kept(self) -> Kept:
        """The home as it is now, once all requests have arrived."""
        return self.bucket.store.copied(), copy.deepcopy(self.place.disk)

    def found(self, kept: Kept) -> dict[str, Any]:
        """What a process finds that opens the home."""
        store, self.bucket.store = self.bucket.store, kept[0]
        try:
            with Place(ADDRESS, self.bucket, kept[1]).open() as log:
                return contents(log)
        finally:
            self.bucket.store = store

    def check(self, problem: PresageError, before: Kept) -> None:
        if NOT_DONE in problem.fix or KEPT in problem.fix:
            assert (self.found(self.kept()) == self.found(before)) == (NOT_DONE in problem.fix)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with bucket_in_memory() as bucket, patch.object(committer, "RECORDS_PER_HEAD", 3):
        yield bucket


@pytest.fixture(scope="module", params=["tables in memory", "Delta tables", "tables behind"])
def begun(request: pytest.FixtureRequest, bucket: Bucket) -> Iterator[tuple[Place, dict[str, Any], int, int]]:
    """A home, what an undisturbed life leaves there, and how many requests it takes."""
    bucket.store = FaultyStore()
    place = Place(ADDRESS, bucket, None if request.param == "Delta tables" else MemoryDisk())
    with patch.object(FaultyStore, "is_distant", request.param == "tables behind"):
        with place.open() as log:
            log.append_catalog("create", "stream", "Tick", "…", creates=[TICK])
        kept = place.copied(None)
        other = kept.copied(None).enter()
        found = Client(other, bucket, CrashAt()).live()
        yield kept, found, bucket.store.acts, bucket.store.reads


def live(
    begun: tuple[Place, dict[str, Any], int, int],
    bucket: Bucket,
    faults: dict[int, str],
    reads: Iterable[int] = (),
    dies: tuple[Any, ...] = (),
) -> Client:
    kept, expected, *_ = begun
    place = kept.copied(None).enter()
    bucket.store.faults, bucket.store.read_faults = dict(faults), set(reads)
    client = Client(place, bucket, CrashAt(*dies))
    assert client.live() == expected, (faults, reads, dies)
    return client


def test_whichever_request_fails_in_whatever_way_clients_are_told_the_truth(begun: Any, bucket: Bucket) -> None:
    acts = range(1, begun[2] + 1, 1 if begun[0].disk or SOAK else 3)
    told = sum(live(begun, bucket, {act: fault}).told for act in acts for fault in FAULTS)
    assert told > len(acts)


def test_whichever_reading_fails_nothing_is_lost(begun: Any, bucket: Bucket) -> None:
    for read in range(1, begun[3] + 1, 1 if begun[0].disk or SOAK else 5):
        live(begun, bucket, {}, {read})


def test_throttling_for_a_while_loses_nothing(begun: Any, bucket: Bucket) -> None:
    for first in range(1, begun[2] + 1, 2 if begun[0].disk else 12):
        live(begun, bucket, dict.fromkeys(range(first, first + 9), BEFORE))


def test_dying_at_any_point_with_any_fault_loses_nothing(begun: Any, bucket: Bucket) -> None:
    dice = random.Random(20240101)
    acts = range(1, begun[2] + 1)
    for act in acts if begun[0].disk else acts[::15]:
        for fault in FAULTS:
            for where in point.POINTS if SOAK else dice.sample(point.POINTS, 2):
                live(begun, bucket, {act: fault}, dies=(where, dice.randint(1, 8)))


def test_many_lives_with_several_faults_lose_nothing(begun: Any, bucket: Bucket) -> None:
    dice = random.Random(20240102)
    for _ in range(SEVERAL if begun[0].disk else SEVERAL // 15):
        faults = {dice.randint(1, begun[2]): dice.choice(FAULTS) for _ in range(dice.randint(2, 6))}
        reads = {dice.randint(1, begun[3]) for _ in range(dice.randint(0, 3))}
        live(begun, bucket, faults, reads, dice.choice([(), (dice.choice(point.POINTS), dice.randint(1, 9))]))
