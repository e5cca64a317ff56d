from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition, InputRange, cut_within
from presage.model.time import TimeRange
from presage.model.types import LONG
from presage.plan.nodes import Field, Scan
from presage.storage import Bounds, FileSet, Log
from presage.storage.columns import SEQ, TIME
from presage.storage.event_reader import read_events
from recovery.crashing import SECOND, row, stream

SCAN = Scan("Tick", "t", (Field("t.x", LONG),), ("x",))
START = 1_704_067_200_000_000


def files(*spans: tuple[int, int, int]) -> FileSet:
    rows = sum(count for _, _, count in spans)
    return FileSet("Tick", (), rows, 0, None, None, Bounds(), None, spans)


def span(start: int, end: int) -> InputRange:
    return InputRange(InputPosition(0, start), InputPosition(1, end))


def test_little_is_taken_whole() -> None:
    assert cut_within([(files((0, 100, 10)), span(NOTHING_KNOWN, 100))], limit=10) is None


def test_much_is_cut_where_about_the_limit_lies() -> None:
    found = files((0, 999, 1_000), (1_000, 1_999, 1_000))
    cut = cut_within([(found, span(NOTHING_KNOWN, 1_999))], limit=500)
    assert cut is not None
    assert 495 <= cut <= 505


def test_events_of_one_time_cannot_be_cut() -> None:
    cut = cut_within([(files((5, 5, 1_000)), span(NOTHING_KNOWN, 100))], limit=10)
    assert cut == 5


def test_what_lies_before_the_start_or_after_the_end_does_not_count() -> None:
    """A file that reaches from long ago into the span holds little that is new."""
    assert cut_within([(files((0, 999, 1_000)), span(989, 999))], limit=50) is None
    assert cut_within([(files((0, 999, 1_000)), span(0, 20))], limit=50) is None


def test_a_cut_always_goes_forward() -> None:
    cut = cut_within([(files((0, 10, 1_000_000)), span(3, 10))], limit=1)
    assert cut == 4


def test_spans_that_wait_do_not_hold_up_those_that_could_go_on() -> None:
    """One statement waits for a silent stream at 3; another is at 8 already: the cut lies after that."""
    found = files((0, 10, 1_000_000))
    cut = cut_within([(found, span(3, 3)), (found, span(8, 10))], limit=1)
    assert cut == 9


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_spans_that_follow_each_other_take_in_every_event_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the positions and clocks in between, as long as neither goes back."""
    seconds = data.draw(st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=4), min_size=1, max_size=4))
    home = tmp_path_factory.mktemp("spans") / "home"
    kind = stream(max_delay=60 * SECOND)
    with Log.open(home, durable=False) as log:
        log.create_stream(kind)
        for load in seconds:
            log.append(kind, [row(i, second) for i, second in enumerate(load)])
        last = log.position
        steps = data.draw(st.lists(st.tuples(st.integers(0, last), st.integers(-1, 9)), max_size=5))
        positions, clocks = sorted(p for p, _ in steps), sorted(c for _, c in steps)
        scan = Scan(
            "Tick",
            "t",
            SCAN.fields,
            SCAN.attributes,
            TimeRange(START + SECOND, START + 8 * SECOND),
            None,
            data.draw(st.sampled_from([None, 0, 2])),
            data.draw(st.sampled_from([None, last - 1])),
        )
        places = [InputPosition(p, START + c * SECOND) for p, c in zip(positions, clocks, strict=True)]
        taken: list[int] = []
        for start, end in zip(
            [InputPosition(), *places], [*places, InputPosition(last, START + 100 * SECOND)], strict=True
        ):
            for found in InputRange(start, end).files(scan, log.archive):
                table = read_events(found, ["x"])
                assert all(time <= end.watermark for time in table[TIME].to_pylist())
                taken += table[SEQ].to_pylist()
        wanted = log.archive.snapshot("Tick", scan.until, scan.time.low, scan.time.high, scan.after)
        assert sorted(taken) == sorted(log.archive.read_arrow(wanted)[SEQ].to_pylist())


def test_nothing_is_read_before_time_is_known(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(stream())
        log.append(stream(), [row(1, 1)])
        assert InputRange(InputPosition(), InputPosition(1, NOTHING_KNOWN)).files(SCAN, log.archive) == []
