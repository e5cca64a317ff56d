"""The threshold policy with heartbeat: a sensor sends an update when its last prediction no longer holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Any, TypeVar

from presage.sensors.predictors import Learnt, Linear, Predictor
from presage.sensors.update import Line, Reason, Time, Update, seconds_of

T = TypeVar("T")


@dataclass(frozen=True)
class Adaptive:
    """Thresholds that follow the traffic. Corrections sooner than `aim` seconds after the last update multiply them by
    `step`; later ones, and heartbeats, divide. The factor stays between `least` and `most`.

    It changes at updates alone, and each update carries the threshold that holds until the next.
    """

    aim: float
    least: float = 0.25
    most: float = 4.0
    step: float = 1.5

    def __post_init__(self) -> None:
        if not self.aim > 0.0:
            raise ValueError(f"aim is a number of seconds above 0, not {self.aim}")
        if not 0.0 < self.least <= 1.0 <= self.most:
            raise ValueError(f"1 lies between least and most, and least is above 0; not {self.least} and {self.most}")
        if not self.step > 1.0:
            raise ValueError(f"step is above 1, not {self.step}")

    def after(self, factor: float, elapsed: float, corrected: bool) -> float:
        """The factor from an update on that came `elapsed` seconds after the one before."""
        if corrected and elapsed < self.aim:
            return min(factor * self.step, self.most)
        return max(factor / self.step, self.least)


class Sensor:
    """One sensor with one or more attributes. Feed it every sample; send what it returns.

    An update is due at the first sample, at a sample with an attribute farther than its threshold from what the last
    update predicts (a correction), and at a sample `period` or more after the last update (a heartbeat). Between
    updates, then, every sample lies within the threshold of the last update's line; and two updates are less than the
    period and one gap between samples apart. With `every`, the seconds from a sample to the next, a heartbeat comes
    one sample sooner if the next would be too late: as long as samples come that often, updates are never farther apart
    than the period, and receivers that drop a line after the period see no gap.

    `key` is the sensor's name, for the column `key_column`, or a mapping of columns to values. `smoothed` sends the
    predictor's estimate in place of the sample, unless it is farther from it than the threshold.
    """

    def __init__(
        self,
        key: Any,
        attributes: Sequence[str],
        *,
        threshold: float | Mapping[str, float],
        period: float | timedelta,
        predictor: Predictor | Mapping[str, Predictor] | None = None,
        every: float | timedelta | None = None,
        smoothed: bool = False,
        adapt: Adaptive | None = None,
        send_threshold: bool = False,
        key_column: str = "key",
        time_column: str = "at",
    ) -> None:
        names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"attributes are one or more different names, not {list(names)}")
        self.attributes = names
        self.key: dict[str, Any] = dict(key) if isinstance(key, Mapping) else {key_column: key}
        self.time_column = time_column
        chosen = Linear() if predictor is None else predictor
        self._predictors = (
            _each(chosen, names, "predictor") if isinstance(chosen, Mapping) else dict.fromkeys(names, chosen)
        )
        self._base = (
            _each(threshold, names, "threshold") if isinstance(threshold, Mapping) else dict.fromkeys(names, threshold)
        )
        for name, value in self._base.items():
            if not (isfinite(value) and value >= 0.0):
                raise ValueError(f"the threshold of {name} is a number from 0 up, not {value}")
        self._period = _duration(period, "period")
        self._every = 0.0 if every is None else _duration(every, "every")
        if self._every > self._period:
            raise ValueError(
                f"samples come every {self._every:g} s and the period is {self._period:g} s: "
                "sample more often, or make the period longer"
            )
        self._smoothed, self._adapt, self._send_threshold = smoothed, adapt, send_threshold or adapt is not None
        self._factor = 1.0
        self._last: float | None = None  # time of the last sample
        self._sent: float | None = None  # time of the last update
        self._lines: dict[str, Line] = {}  # its content
        self._learnt: dict[str, Learnt] = {}
        self._seen: dict[str, float] = {}  # time of each attribute's last sample

    def sample(self, time: Time, /, **values: float | None) -> Update | None:
        """The update that is due at this sample, or None. An attribute that is left out, None or not a finite number
        was not measured; a sample without any says nothing, and nothing is sent."""
        now = self._checked(time, values)
        found = {name: float(value) for name, value in values.items() if value is not None and isfinite(value)}
        if not found:
            return None
        self._last = now
        reason = self._due(now, found)
        for name, value in found.items():
            self._learnt[name] = self._learn(name, now, value)
            self._seen[name] = now
        if reason is None:
            return None
        if self._adapt is not None and self._sent is not None:
            self._factor = self._adapt.after(self._factor, now - self._sent, reason == "correction")
        self._lines = {name: self._line(name, now, found.get(name)) for name in self.attributes}
        self._sent = now
        return Update(dict(self.key), time, dict(self._lines), reason, self.time_column, self._send_threshold)

    def _checked(self, time: Time, values: Mapping[str, float | None]) -> float:
        unknown = sorted(set(values) - set(self.attributes))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not an attribute of this sensor; it has {', '.join(self.attributes)}")
        now = seconds_of(time)
        if not isfinite(now):
            raise ValueError(f"a sample's time is a number of seconds or a datetime, not {time}")
        if self._last is not None and now <= self._last:
            by = self._last - now
            raise ValueError(
                f"the sample's time {time} is {f'{by:g} s before' if by else 'that of'} the last sample: "
                "give samples in order of time, one at a time; if the clock was set back, call forget() first"
            )
        return now

    def _due(self, now: float, found: Mapping[str, float]) -> Reason | None:
        if self._sent is None:
            return "first"
        for name, value in found.items():
            line = self._lines[name]
            # The first value of an attribute is always sent.
            if line.value is None or line.rate is None:
                return "correction"
            # Not `>`: a difference that is NaN must trigger an update.
            if not abs(value - (line.value + line.rate * (now - self._sent))) <= line.threshold:
                return "correction"
        return (
            "heartbeat" if now + self._every - self._sent > self._period or now - self._sent >= self._period else None
        )

    def _learn(self, name: str, now: float, value: float) -> Learnt:
        predictor, learnt = self._predictors[name], self._learnt.get(name)
        if learnt is not None:
            learnt = predictor.learn(learnt, now, value)
            # Values near the largest double can overflow to infinity, which would stay.
            if all(map(isfinite, (*learnt, *predictor.line(learnt)))):
                return learnt
        return predictor.begin(now, value)

    def _line(self, name: str, now: float, value: float | None) -> Line:
        threshold = self._base[name] * self._factor
        if name not in self._seen or now - self._seen[name] >= self._period:
            return Line(None, None, threshold)
        if value is None:
            # Not measured this time: it continues along its last line.
            before = self._lines.get(name)
            if before is None or before.value is None or before.rate is None or self._sent is None:
                return Line(None, None, threshold)
            return Line(before.value + before.rate * (now - self._sent), before.rate, threshold)
        estimate, rate = self._predictors[name].line(self._learnt[name])
        near = self._smoothed and abs(estimate - value) <= threshold
        return Line(estimate if near else value, rate, threshold)

    def forget(self) -> None:
        """Reset, as if there had been no sample, for example after the clock was set. The next sample is sent."""
        self._factor, self._last, self._sent = 1.0, None, None
        self._lines, self._learnt, self._seen = {}, {}, {}

    def state(self) -> dict[str, Any]:
        """The state as numbers and texts for JSON."""
        return {
            "attributes": list(self.attributes),
            "predictors": [type(self._predictors[name]).__name__ for name in self.attributes],
            "factor": self._factor,
            "last": self._last,
            "sent": self._sent,
            "lines": {name: [line.value, line.rate, line.threshold] for name, line in self._lines.items()},
            "learnt": {name: list(learnt) for name, learnt in self._learnt.items()},
            "seen": dict(self._seen),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state()` gave, in a sensor made with the same settings."""
        own = self.state()
        for what in ("attributes", "predictors"):
            if list(state[what]) != own[what]:
                raise ValueError(
                    f"the state is of a sensor with the {what} {', '.join(state[what])}, "
                    f"this one has {', '.join(own[what])}: "
                    "make the sensor as it was made then, or begin without the state"
                )
        self._factor, self._last, self._sent = state["factor"], state["last"], state["sent"]
        self._lines = {name: Line(*line) for name, line in state["lines"].items()}
        self._learnt = {name: tuple(learnt) for name, learnt in state["learnt"].items()}
        self._seen = dict(state["seen"])


def _each(given: Mapping[str, T], names: Sequence[str], what: str) -> dict[str, T]:
    missing = [name for name in names if name not in given]
    if missing or len(given) > len(names):
        raise ValueError(f"one {what} for each of {', '.join(names)} is needed, not for {', '.join(given) or 'none'}")
    return {name: given[name] for name in names}


def _duration(given: float | timedelta, what: str) -> float:
    seconds = given.total_seconds() if isinstance(given, timedelta) else float(given)
    if not (isfinite(seconds) and seconds > 0.0):
        raise ValueError(f"{what} is a number of seconds above 0, or a timedelta, not {given}")
    return seconds
