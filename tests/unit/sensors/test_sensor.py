"""When a sensor speaks, what it says, and what it refuses."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from presage.sensors import Adaptive, Constant, Holt, Kalman, Linear, Sensor, Update

SRC = Path(__file__).parents[3] / "src"


def make(**settings: Any) -> Sensor:
    return Sensor("car20", ("x", "y"), **{"threshold": 25, "period": 30, "key_column": "car"} | settings)


def sent(update: Update | None) -> Update:
    assert update is not None
    return update


def test_the_package_needs_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, presage.sensors\n"
        "print(*({'pyspark', 'pyarrow', 'pandas', 'numpy', 'numba', 'lark', 'presage.model', 'presage.errors'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SRC, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("path", sorted((SRC / "presage" / "sensors").glob("*.py")), ids=lambda path: path.stem)
def test_a_module_of_the_package_imports_the_standard_library_and_its_neighbours(path: Path) -> None:
    modules = {
        module
        for node in ast.walk(ast.parse(path.read_text()))
        for module in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    foreign = {m for m in modules if m.split(".")[0] not in sys.stdlib_module_names}
    assert {m for m in foreign if not m.startswith("presage.sensors.")} == set()


def test_the_first_sample_is_sent_with_rate_0() -> None:
    update = sent(make().sample(10, x=60, y=30))
    assert update.reason == "first"
    assert update.row() == {"car": "car20", "at": 10, "x_value": 60, "x_rate": 0, "y_value": 30, "y_rate": 0}


def test_a_correction_carries_all_attributes_and_the_line_through_the_last_two_samples() -> None:
    sensor = make()
    sensor.sample(0, x=0, y=0)
    assert sensor.sample(5, x=22.5, y=15) is None
    update = sent(sensor.sample(10, x=45, y=30))
    assert update.reason == "correction"
    assert update.row() == {"car": "car20", "at": 10, "x_value": 45, "x_rate": 4.5, "y_value": 30, "y_rate": 3}
    assert update.predict("x", 20) == 90
    # From here on it moves as it was said to.
    assert all(sensor.sample(t, x=4.5 * t, y=3 * t) is None for t in range(11, 40))
    assert sent(sensor.sample(40, x=180, y=120)).reason == "heartbeat"


def test_a_difference_of_just_the_threshold_is_no_correction() -> None:
    sensor = make()
    sensor.sample(0, x=0, y=0)
    assert sensor.sample(1, x=25, y=-25) is None
    assert sensor.sample(2, x=25.001, y=0) is not None


def test_each_attribute_has_its_own_threshold_and_predictor() -> None:
    sensor = make(threshold={"x": 25, "y": 1}, predictor={"x": Constant(), "y": Linear()})
    sensor.sample(0, x=0, y=0)
    assert sensor.sample(1, x=20, y=1) is None
    update = sent(sensor.sample(2, x=20, y=2))
    assert (update.lines["x"].rate, update.lines["y"].rate) == (0, 1)


def test_without_prediction_only_the_last_value_counts() -> None:
    sensor = make(predictor=Constant())
    updates = [sensor.sample(t, x=10 * t, y=0) for t in range(10)]
    assert [u.time for u in updates if u] == [0, 3, 6, 9]
    assert {u.row()["x_rate"] for u in updates if u} == {0}


def test_a_heartbeat_that_would_be_late_comes_one_sample_sooner() -> None:
    late, in_time = make(), make(every=4)
    times = {sensor: [t for t in range(0, 60, 4) if sensor.sample(t, x=0, y=0)] for sensor in (late, in_time)}
    assert times[late] == [0, 32]
    assert times[in_time] == [0, 28, 56]


def test_an_attribute_that_is_missing_goes_on_as_predicted_until_the_period_is_over() -> None:
    sensor = make(period=10)
    sensor.sample(0, x=0, y=0)
    sensor.sample(5, x=0, y=50)
    update = sent(sensor.sample(8, x=99, y=None))
    assert update.row()["y_value"] == 80
    assert update.row()["y_rate"] == 10
    update = sent(sensor.sample(16, x=200, y=math.nan))
    assert (update.row()["y_value"], update.row()["y_rate"]) == (None, None)
    assert update.predict("y", 17) is None
    assert sent(sensor.sample(17, y=3)).reason == "correction"


def test_a_sample_without_a_measurement_says_nothing() -> None:
    sensor = make()
    assert sensor.sample(0, x=None, y=math.inf) is None
    assert sent(sensor.sample(1, x=1)).row()["y_value"] is None
    assert sensor.sample(100) is None
    assert sent(sensor.sample(101, x=1, y=2)).lines["y"].value == 2
    # Not even its time: what was measured a moment later than it, by the same clock, counts.
    assert sensor.sample(102, x=math.nan) is None
    assert sent(sensor.sample(102, x=900, y=2)).reason == "correction"


def test_times_may_be_datetimes() -> None:
    sensor = make(period=timedelta(seconds=30), time_column="time")
    start = datetime(2024, 3, 31, 0, 59, 55, tzinfo=UTC)
    assert sent(sensor.sample(start, x=0, y=0)).row()["time"] == start
    update = sent(sensor.sample(start + timedelta(seconds=10), x=100, y=0))
    assert update.lines["x"].rate == pytest.approx(10)
    assert update.predict("x", start + timedelta(seconds=12)) == pytest.approx(120)


def test_a_datetime_without_zone_is_utc() -> None:
    sensor = make()
    sensor.sample(datetime(2024, 3, 31, 1, 59, 55), x=0, y=0)
    # In Berlin the clocks jump from two to three at this moment.
    assert sensor.sample(datetime(2024, 3, 31, 2, 0, 5, tzinfo=UTC), x=0, y=0) is None


@pytest.mark.parametrize("time", [10, 9.5])
def test_time_that_does_not_go_on_is_refused(time: float) -> None:
    sensor = make()
    sensor.sample(10, x=0, y=0)
    with pytest.raises(ValueError, match=r"in order of time.*call forget\(\)"):
        sensor.sample(time, x=0, y=0)
    # What was refused has left no trace.
    assert sensor.sample(11, x=0, y=0) is None
    sensor.forget()
    assert sent(sensor.sample(time, x=0, y=0)).reason == "first"


def test_a_compound_key_is_a_mapping_of_columns() -> None:
    sensor = Sensor({"fleet": "north", "car": 7}, "x", threshold=1, period=5)
    assert sent(sensor.sample(0, x=1)).row() == {"fleet": "north", "car": 7, "at": 0, "x_value": 1, "x_rate": 0}


def test_thresholds_are_sent_along_when_asked_for() -> None:
    row = sent(make(send_threshold=True, threshold={"x": 25, "y": 10}).sample(0, x=1, y=1)).row()
    assert (row["x_threshold"], row["y_threshold"]) == (25, 10)


def test_an_adaptive_threshold_grows_under_traffic_and_shrinks_in_silence() -> None:
    sensor = make(adapt=Adaptive(aim=20, least=0.5, most=4, step=2), predictor=Constant())
    found = [sent(sensor.sample(t, x=1000 * t, y=0)).row()["x_threshold"] for t in range(4)]
    assert found == [25, 50, 100, 100]
    quiet = [sensor.sample(3 + t, x=3000, y=0) for t in range(1, 151)]
    assert [u.row()["x_threshold"] for u in quiet if u] == [50, 25, 12.5, 12.5, 12.5]


def test_a_smoothed_sensor_sends_its_estimate_unless_that_is_too_far_off() -> None:
    filtered = make(predictor=Kalman(process=0.01, noise=10, spread=1), smoothed=True, period=3)
    filtered.sample(0, x=0, y=0)
    filtered.sample(1, x=6, y=0)
    update = sent(filtered.sample(3, x=-6, y=0))
    assert update.reason == "heartbeat"
    assert -6 < update.row()["x_value"] < 6
    update = sent(filtered.sample(4, x=500, y=0))
    assert update.row()["x_value"] == 500


def test_numbers_that_overflow_do_not_silence_a_predictor_for_good() -> None:
    sensor = Sensor("s", "x", threshold=1, period=5, predictor=Holt(1, 1))
    for t, x in enumerate((1e308, -1e308, 1e308, -1e308)):
        assert math.isfinite(sent(sensor.sample(t, x=x)).row()["x_rate"])
    for t in range(4, 9):
        sensor.sample(t, x=2.0 * t)
    assert sensor.state()["learnt"]["x"][2] == pytest.approx(2)


def test_a_state_fits_a_sensor_of_the_same_make_only() -> None:
    state = make().state()
    with pytest.raises(ValueError, match="attributes x, y, this one has x"):
        Sensor("s", "x", threshold=1, period=5).restore(state)
    with pytest.raises(ValueError, match="predictors Linear, Linear, this one has Holt, Holt"):
        make(predictor=Holt()).restore(state)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"attributes": ()}, "one or more different names"),
        ({"attributes": ("x", "x")}, "one or more different names"),
        ({"threshold": -1}, "threshold of x is a number from 0 up"),
        ({"threshold": math.nan}, "threshold of x is a number from 0 up"),
        ({"threshold": {"x": 1}}, "one threshold for each of x, y"),
        ({"predictor": {"x": Linear(), "y": Linear(), "z": Linear()}}, "one predictor for each of x, y"),
        ({"period": 0}, "period is a number of seconds above 0"),
        ({"period": timedelta(seconds=-3)}, "period is a number of seconds above 0"),
        ({"every": 31}, "sample more often, or make the period longer"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Sensor("s", **{"attributes": ("x", "y"), "threshold": 1, "period": 30} | settings)


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        (Linear, {"samples": 1}, "two samples or more"),
        (Holt, {"alpha": 0}, "alpha is a weight"),
        (Holt, {"beta": 1.5}, "beta is a weight"),
        (Holt, {"spacing": 0}, "spacing is a number of seconds"),
        (Kalman, {"noise": 0}, "noise is above 0"),
        (Kalman, {"process": -1}, "process is 0 or more"),
        (Kalman, {"spread": math.nan}, "spread is 0 or more"),
        (Adaptive, {"aim": 0}, "aim is a number of seconds"),
        (Adaptive, {"aim": 1, "least": 2}, "1 lies between"),
        (Adaptive, {"aim": 1, "step": 1}, "step is above 1"),
    ],
)
def test_predictors_refuse_what_makes_no_sense(kind: Any, settings: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(**settings)


def test_an_attribute_that_the_sensor_does_not_have_is_named() -> None:
    with pytest.raises(ValueError, match="'z' is not an attribute of this sensor; it has x, y"):
        make().sample(0, z=1)
