"""The campus that lives: the same for the same seed, in order of time, in distributions, on the roads."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import islice
from pathlib import Path

import pyarrow.compute as pc

from presage.demo.campus import kinds_of
from presage.demo.campus_live import DRIVES, NOW, WALKS, LiveCampus
from presage.demo.campus_movement import BLOCK, HEIGHT, WIDTH, drives
from presage.workspace import Workspace


def test_minutes_follow_each_other_and_are_the_same_for_the_same_seed() -> None:
    first, again = (list(islice(LiveCampus(400).minutes(), 12)) for _ in range(2))
    for number, (one, other) in enumerate(zip(first, again, strict=True)):
        assert one.keys() == other.keys()
        begin, end = NOW + timedelta(minutes=number), NOW + timedelta(minutes=number + 1)
        for stream, rows in one.items():
            if stream in (WALKS, DRIVES):
                assert rows == other[stream]
                assert all(begin <= row["at"] < end for row in rows)
                continue
            assert rows.equals(other[stream])
            assert pc.min(rows["at"]).as_py() >= begin
            assert pc.max(rows["at"]).as_py() < end


def test_every_sensor_reports_once_an_hour_of_the_day_before_and_once_in_five_minutes_now() -> None:
    campus = LiveCampus(400)
    assert sum(events.num_rows for _, events in campus.history()) == 24 * 400
    assert all(pc.max(events["at"]).as_py() < NOW for _, events in campus.history())
    live = list(islice(campus.minutes(), 5))
    assert sum(r.num_rows for minute in live for s, r in minute.items() if s not in (WALKS, DRIVES)) == 400


def test_where_people_may_be_is_a_distribution() -> None:
    for minute in islice(LiveCampus(400).minutes(), 20):
        sums: dict[str, float] = defaultdict(float)
        for row in minute[WALKS]:
            sums[row["person"]] += row["probability"]
        assert all(0 < total <= 1 for total in sums.values())


def test_carts_stay_on_the_roads_and_are_heard_within_the_minute() -> None:
    last: dict[str, tuple[float, float, float]] = {}
    for number, minute in enumerate(islice(drives(NOW, 1), 30)):
        for row in minute:
            assert 0 <= row["x_value"] <= WIDTH
            assert 0 <= row["y_value"] <= HEIGHT
            assert row["x_value"] % BLOCK == row["y_value"] % BLOCK == 0
            assert (row["x_rate"] == 0) != (row["y_rate"] == 0)
            seconds = (row["at"] - NOW).total_seconds()
            if row["cart"] in last:
                told, x, y = last[row["cart"]]
                # It is where the previous update predicted.
                assert (seconds - told) <= 60 + BLOCK / 3
                assert abs(x - row["x_value"]) + abs(y - row["y_value"]) > 0
            last[row["cart"]] = (seconds, row["x_value"], row["y_value"])
        assert number > 0 or len(last) == 30


def test_its_statements_are_without_mistakes_and_one_of_each_kind(tmp_path: Path) -> None:
    LiveCampus(400).write(tmp_path)
    text = (tmp_path / "campus.epl").read_text() + (tmp_path / "live.epl").read_text()
    Workspace([tmp_path], tmp_path).check(text, "live.epl")
    kinds = kinds_of((tmp_path / "live.epl").read_text())
    assert [kind for kind, _ in kinds.values()] == [
        "window",
        "pattern",
        "MATCH_RECOGNIZE",
        "knowledge",
        "probability",
        "prediction",
        "recall",
        "similar",
        "past to future",
    ]
