from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.sources import kafka
from presage.sources.kafka import in_step
from presage.storage import Log
from unit.sources.topics import FakeTopic, SteppedTopic, event


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "home", durable=False) as made:
        yield made


def test_messages_are_events_and_their_offsets_stand_beside_them(log: Log) -> None:
    topic = FakeTopic(2)
    topic.put(0, event(1), event(3))
    topic.put(1, event(2))
    source = SteppedTopic(log, topic)
    source.drain()
    assert source.events() == [1, 2, 3]
    assert source.positions() == {1: ("faults-0", 0), 2: ("faults-1", 0), 3: ("faults-0", 1)}
    assert source.source.position(source.cursor) == "next offset of each partition: 0: 2, 1: 1"
    assert source.step() is None
    assert source.source.why == ""


def test_after_a_restart_it_goes_on_where_the_log_is(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1))
    source = SteppedTopic(log, topic)
    source.drain()
    topic.put(0, event(2))
    source.begin()
    source.drain()
    assert source.events() == [1, 2]


def test_a_delivery_that_comes_again_is_no_second_event(log: Log) -> None:
    topic = FakeTopic()
    source = SteppedTopic(log, topic)
    source.step()
    topic.put(0, event(1))
    delivery = source.source.read(source.cursor)
    assert delivery is not None
    assert log.deliver(source.type, delivery).accepted == 1
    assert log.deliver(source.type, delivery).duplicate
    assert source.events() == [1]


def test_latest_begins_after_what_is_there_and_misses_nothing_that_comes_while_the_engine_is_closed(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1))
    source = SteppedTopic(log, topic, start="latest")
    assert source.step() is not None  # where it begins is durable
    source.begin()
    topic.put(0, event(2))
    source.drain()
    assert source.events() == [2]


def test_it_may_begin_at_a_time(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1), event(2), event(3))
    source = SteppedTopic(log, topic, start="2024-01-01T00:00:03Z")
    source.drain()
    assert source.events() == [3]


def test_poison_is_rejected_with_partition_offset_and_text_and_the_others_pass(log: Log) -> None:
    topic = FakeTopic()
    bad = b'{"x": 1'
    topic.put(
        0, event(1), b"\xff\xfe{", bad, b"[1, 2]", None, b"", {"x": "far", "at": "2024-01-01T00:00:02Z"}, event(9)
    )
    source = SteppedTopic(log, topic)
    source.drain()
    assert source.events() == [1, 9]
    rejected = {row["origin"]: (row["reason"], row["raw"]) for row in source.rejected()}
    assert [*rejected] == [f"faults-0:{n}" for n in range(1, 7)]
    assert rejected["faults-0:1"] == ("the message is not UTF-8", "\ufffd\ufffd{")
    assert rejected["faults-0:2"][0].startswith("the message is not JSON")
    assert rejected["faults-0:2"][1] == bad.decode()
    assert rejected["faults-0:3"][0] == "a row must be a mapping from attributes to values, found [1, 2]"
    assert rejected["faults-0:4"][0] == "the message has no value"
    assert rejected["faults-0:6"][0] == "attribute 'x' needs LONG, found \"far\""
    assert source.cursor is not None
    assert source.cursor["next"] == {"0": 8}


def test_a_poison_message_costs_only_its_block_a_closer_look(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.sources.messages.BLOCK", 10)
    topic = FakeTopic()
    topic.put(0, *(event(n) for n in range(50)))
    topic.logs[0][33] = b"poison"
    source = SteppedTopic(log, topic)
    looked = []
    reader = source.source._reader
    careful = reader._carefully
    monkeypatch.setattr(reader, "_carefully", lambda m: looked.append(m.num_rows) or careful(m))
    source.drain()
    assert source.events() == [n for n in range(50) if n != 33]
    assert looked == [10]
    assert {row[1] for row in source.positions().values()} == {n for n in range(50) if n != 33}


def test_csv_has_its_fields_in_the_order_of_the_attributes_or_as_the_option_says(log: Log, tmp_path: Path) -> None:
    topic = FakeTopic()
    topic.put(0, b"1,one,2024-01-01T00:00:01Z", b'2,"t,wo",2024-01-01T00:00:02Z')
    source = SteppedTopic(log, topic, format="csv")
    source.drain()
    assert source.events() == [1, 2]
    with Log.open(tmp_path / "other", durable=False) as second:
        topic = FakeTopic()
        topic.put(0, b"2024-01-01T00:00:01Z,5,extra", b"2024-01-01T00:00:02Z,6,extra")
        source = SteppedTopic(second, topic, format="csv", columns="at, x, more")
        source.drain()
        assert source.events() == [5, 6]


def test_csv_whose_columns_change_is_rejected_message_by_message_until_they_fit_again(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, b"1,a,2024-01-01T00:00:01Z", b"2,b,new,2024-01-01T00:00:02Z", b"3,c,2024-01-01T00:00:03Z")
    source = SteppedTopic(log, topic, format="csv")
    source.drain()
    assert source.events() == [1, 3]
    (row,) = source.rejected()
    assert row["reason"] == "the message has 4 fields, 3 were expected: x, s, at"
    assert (row["raw"], row["origin"]) == ("2,b,new,2024-01-01T00:00:02Z", "faults-0:1")


@pytest.mark.parametrize(
    ("trouble", "pause"),
    [
        (ConnectionError("the broker is away"), kafka.AWAY_PAUSE),
        (FileNotFoundError("no such topic"), kafka.AWAY_PAUSE),
        (PermissionError("wrong password"), kafka.REFUSED_PAUSE),
    ],
)
def test_trouble_is_said_and_waited_out_and_nothing_is_lost(log: Log, trouble: OSError, pause: float) -> None:
    topic = FakeTopic()
    topic.put(0, event(1))
    source = SteppedTopic(log, topic)
    topic.trouble = trouble
    assert source.step() is None
    assert (source.source.why, source.source.pause) == (str(trouble), pause)
    topic.trouble = None
    source.drain()
    topic.put(0, event(2))
    topic.trouble = trouble
    assert source.step() is None
    topic.trouble = None
    source.drain()
    assert (source.events(), source.source.why) == ([1, 2], "")


def test_offsets_that_retention_has_deleted_are_said_and_counted(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1))
    source = SteppedTopic(log, topic)
    source.drain()
    topic.put(0, *(event(n) for n in range(2, 7)))
    topic.firsts[0] = 4
    source.drain()
    assert source.events() == [1, 5, 6]
    (row,) = source.rejected()
    assert row["reason"] == "offsets 1 to 3 were deleted by Kafka before they could be read"
    assert row["origin"] == "faults-0:1"
    assert source.source.notes == ["offsets 1 to 3 of 'faults-0' were deleted by Kafka before they could be read"]
    assert source.source.position(source.cursor).endswith("; 3 offsets were gone before they could be read")


def test_a_topic_that_begins_late_has_lost_nothing_of_ours(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, *(event(n) for n in range(5)))
    topic.firsts[0] = 3
    source = SteppedTopic(log, topic)
    source.drain()
    assert (source.events(), source.rejected()) == ([3, 4], [])


def test_a_partition_that_is_added_later_is_read_from_its_first_message(log: Log) -> None:
    topic = FakeTopic()
    source = SteppedTopic(log, topic, start="latest")
    source.drain()
    topic.logs.append([])
    topic.firsts.append(0)
    topic.put(1, event(1))
    source.drain()
    topic.put(0, event(2))
    source.drain()
    assert source.events() == [1, 2]


def test_a_topic_that_was_deleted_and_made_again_is_read_from_its_beginning_as_another(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1), event(2))
    source = SteppedTopic(log, topic)
    source.drain()
    topic.make(1, "second")
    topic.put(0, event(3), event(4))  # as long as it was before
    source.drain()
    assert source.events() == [1, 2, 3, 4]
    assert source.positions()[3] == ("faults-0#2", 0)
    assert "was deleted and made again" in source.source.notes[0]


def test_a_topic_that_is_made_again_while_it_is_read_gives_nothing_of_that_read(log: Log) -> None:
    topic = FakeTopic()
    source = SteppedTopic(log, topic)
    source.step()
    topic.put(0, event(1))
    reading = topic.read

    def read(ranges: dict[int, tuple[int, int]]) -> object:
        found = reading(ranges)
        topic.identity = "second"
        return found

    topic.read = read  # type: ignore[method-assign, assignment]
    assert source.step() is None
    assert "was deleted while it was read" in source.source.why
    assert source.events() == []


def test_a_partition_that_has_become_shorter_is_read_on_from_its_end_and_that_is_said(log: Log) -> None:
    topic = FakeTopic()
    topic.put(0, event(1), event(2), event(3))
    source = SteppedTopic(log, topic)
    source.drain()
    del topic.logs[0][1:]
    source.drain()
    topic.put(0, event(7))
    source.drain()
    assert source.events() == [1, 2, 3, 7]
    assert "Kafka has lost messages" in source.rejected()[0]["reason"]


def test_partitions_that_catch_up_stay_in_step_so_that_none_makes_the_other_late(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "FIRST_ROWS", 20)
    monkeypatch.setattr(kafka, "ROWS", 20)
    topic = FakeTopic(2)
    topic.put(0, *(event(n) for n in range(100)))
    topic.put(1, *(event(1000 + n, 90 + n // 10) for n in range(100)))
    source = SteppedTopic(log, topic)
    source.drain()
    assert sorted(source.events()) == [*range(100), *range(1000, 1100)]
    assert log.archive.read_late("Tick").num_rows == 0


def test_a_read_is_bounded_by_the_size_of_messages(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "FIRST_ROWS", 2)
    monkeypatch.setattr(kafka, "BYTES", 1_000)
    topic = FakeTopic()
    topic.put(0, *(event(n, more="y" * 200) for n in range(20)))
    source = SteppedTopic(log, topic)
    source.drain()
    assert source.events() == list(range(20))
    assert [end - start for (start, end) in (reads[0] for reads in topic.reads)] == [2, *[3] * 6]


@given(st.lists(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=6), min_size=1, max_size=4))
def test_in_step_some_partition_always_goes_on_and_nothing_goes_beyond_one_that_has_more(
    parts: list[list[tuple[int, bool]]],
) -> None:
    rows = {p: (np.arange(len(r)), np.array([t for t, _ in r])) for p, r in enumerate(parts)}
    ended = {p: r[0][1] for p, r in enumerate(parts)}
    cuts = in_step(rows, ended)
    gone = {p: times[: cuts.get(p, len(times))] for p, (_, times) in rows.items()}
    assert any(len(times) for times in gone.values())
    for p, (_, times) in rows.items():
        if not ended[p]:
            assert all(t <= times.max() for of in gone.values() for t in of)


def test_while_messages_are_on_their_way_the_stream_is_not_silent(log: Log) -> None:
    topic = FakeTopic()
    source = SteppedTopic(log, topic)
    source.drain()
    assert source.source.left == 0
    topic.put(0, event(1))
    found = []
    reading = topic.read

    def read(ranges: dict[int, tuple[int, int]]) -> object:
        found.append(source.source.left)
        return reading(ranges)

    topic.read = read  # type: ignore[method-assign, assignment]
    source.drain()
    assert (found, source.source.left) == ([1], 0)


def test_what_is_read_ahead_is_used_if_it_goes_on_from_the_cursor_and_else_dropped(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "WORTH_READING_AHEAD", 1)
    monkeypatch.setattr(kafka, "FIRST_ROWS", 10)
    monkeypatch.setattr(kafka, "ROWS", 10)
    topic = FakeTopic(2)
    for n in range(100):
        topic.put(n % 2, event(n))
    source = SteppedTopic(log, topic)
    source.step()
    source.step()
    assert source.source.read(source.cursor) is not None  # a delivery that could not be appended
    source.drain()
    assert sorted(source.events()) == list(range(100))
    assert log.archive.read_late("Tick").num_rows == 0
    assert len({*source.positions().values()}) == 100


def test_trouble_while_reading_ahead_is_trouble_of_the_next_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "WORTH_READING_AHEAD", 1)
    monkeypatch.setattr(kafka, "FIRST_ROWS", 10)
    topic = FakeTopic()
    topic.put(0, *(event(n) for n in range(30)))
    source = SteppedTopic(log, topic)
    source.step()
    topic.trouble = ConnectionError("gone")
    source.source._prefetch.left_over("first", {0: 0})
    source.source._prefetch.read_on(topic.read, {0: (0, 10)})
    wait_for_thread("presage-kafka-ahead")
    topic.trouble = None
    assert source.step() is None
    assert source.source.why == "gone"
    source.drain()
    assert source.events() == list(range(30))


def wait_for_thread(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()


ACTIONS = st.lists(st.sampled_from(["step", "step", "step", "lost", "away", "begin", "delete"]), max_size=25)


@given(st.lists(st.integers(0, 40), min_size=3, max_size=3), ACTIONS, st.tuples(*[st.integers(1, 12)] * 4))
def test_whatever_is_read_ahead_or_left_over_each_message_is_one_event_and_none_is_late(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], actions: list[str], limits: tuple[int, ...]
) -> None:
    """Three partitions that are full at the start, with times at paces of their own; deliveries that are not appended,
    a broker that goes away, a source that is begun again, messages that Kafka deletes once they were read."""
    folder = tmp_path_factory.mktemp("topic")
    with pytest.MonkeyPatch.context() as patch, Log.open(folder / "home", durable=False) as log:
        for name, value in zip(("FIRST_ROWS", "ROWS", "WORTH_READING_AHEAD", "PROBE"), limits, strict=True):
            patch.setattr(kafka, name, value)
        topic, put = FakeTopic(3), 0
        for partition, count in enumerate(counts):
            topic.put(partition, *(event(put + n, 5 * partition + partition * n) for n in range(count)))
            put += count
        source = SteppedTopic(log, topic)
        for action in ["step", *actions]:
            if action == "step":
                source.step()
            elif action == "lost":
                source.source.read(source.cursor)
            elif action == "away":
                topic.trouble = ConnectionError("gone")
                source.step()
                topic.trouble = None
            elif action == "begin":
                source.begin()
            elif source.cursor is not None:
                for partition, offset in source.cursor["next"].items():
                    topic.firsts[int(partition)] = offset
        source.drain()
        wait_for_thread("presage-kafka-ahead")
        assert log.archive.read_late("Tick").num_rows == 0
        assert sorted(source.events()) == list(range(put))
        assert len({*source.positions().values()}) == put
