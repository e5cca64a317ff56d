"""The numbering of a source's partition: what becomes of offsets, alone."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from presage.errors import PresageError
from presage.storage.offsets import Gap, PartitionOffsets, SourceOffsets, Verdict, gaps


def arrive(numbering: PartitionOffsets, good: list[int], bad: tuple[int, ...] = ()) -> Verdict:
    return numbering.arrive(np.array(good, np.int64), np.array(bad, np.int64))


def test_the_next_offset_is_taken() -> None:
    numbering = PartitionOffsets(100)
    assert arrive(numbering, [100, 101]).taken.tolist() == [True, True]
    assert asdict(numbering) == asdict(PartitionOffsets(102))


def test_an_offset_before_the_next_is_a_duplicate_and_so_is_one_that_comes_twice() -> None:
    numbering = PartitionOffsets(100)
    verdict = arrive(numbering, [99, 100, 100])
    assert verdict.taken.tolist() == [False, True, False]
    assert not verdict.ahead.any()


def test_an_offset_past_the_next_is_ahead_until_the_missing_ones_come() -> None:
    numbering = PartitionOffsets(100)
    assert arrive(numbering, [103, 102]).ahead.tolist() == [True, True]
    assert (numbering.next, numbering.ahead, numbering.gaps()) == (100, [[102, 103, 2]], [(100, 101, 2)])
    assert not arrive(numbering, [102]).ahead.any()
    assert arrive(numbering, [101, 100]).freed == (100, 104)
    assert (numbering.next, numbering.ahead) == (104, [])


def test_a_gap_may_close_in_the_middle() -> None:
    numbering = PartitionOffsets(0)
    arrive(numbering, [2, 5])
    assert numbering.gaps() == [(0, 1, 1), (3, 4, 1)]
    assert arrive(numbering, [3, 4]).ahead.all()
    assert numbering.ahead == [[2, 5, 4]]
    assert numbering.gaps() == [(0, 1, 4)]
    assert arrive(numbering, [0]).freed == (0, 1)
    assert arrive(numbering, [1]).freed == (1, 6)


def test_a_rejected_row_has_arrived_and_is_not_held() -> None:
    numbering = PartitionOffsets(0)
    arrive(numbering, [2], bad=(1, 3))
    assert numbering.ahead == [[1, 3, 1]]
    arrive(numbering, [0])
    assert numbering.next == 4


def test_what_lies_before_the_first_offset_is_not_awaited_and_taken_once_if_it_comes() -> None:
    numbering = PartitionOffsets.begin(100)
    assert numbering.gaps() == []
    assert arrive(numbering, [7, 98, 99]).taken.all()
    assert numbering.forgone == [[0, 6], [8, 97]]
    assert not arrive(numbering, [7]).taken.any()
    arrive(numbering, list(range(100)))
    assert numbering.forgone == []


def test_a_gap_that_is_given_up_lets_go_what_waited_and_still_takes_what_comes() -> None:
    numbering = PartitionOffsets(10)
    arrive(numbering, [12, 15, 20])
    assert numbering.skip(13) == (10, 14)
    assert (numbering.skipped, numbering.forgone, numbering.gaps()) == (
        3,
        [[10, 11], [13, 13]],
        [(14, 14, 1), (16, 19, 1)],
    )
    assert numbering.skip(14) == (14, 16)
    assert (numbering.skipped, numbering.forgone) == (4, [[10, 11], [13, 14]])
    assert arrive(numbering, [11, 13, 12]).taken.tolist() == [True, True, False]
    assert numbering.forgone == [[10, 10], [14, 14]]


def test_gaps_are_listed_by_source_and_partition() -> None:
    numbering = PartitionOffsets(5)
    arrive(numbering, [8])
    sources = {"kafka": {"0": asdict(numbering), "1": asdict(PartitionOffsets(3))}}
    assert gaps(sources) == [Gap("kafka", "0", 5, 7, 1)]


def test_a_start_before_zero_and_one_column_for_both_are_refused() -> None:
    with pytest.raises(PresageError, match="start is -1"):
        SourceOffsets("s", "o", start=-1)
    with pytest.raises(PresageError, match="partition"):
        SourceOffsets("s", "o", "o")
