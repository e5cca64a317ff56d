"""The update-tuple of a sensor, and its row of a predicted stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

# Seconds from any beginning, or a point in time; one without a zone is taken as UTC.
Time = float | datetime
Reason = Literal["first", "correction", "heartbeat"]


@dataclass(frozen=True)
class Line:
    """From `value` on, by `rate` a second. `threshold`: no sample until the next update is farther from it."""

    value: float | None
    rate: float | None
    threshold: float


@dataclass(frozen=True)
class Update:
    """An update-tuple: a line for each attribute, from `time` on until the next update, at most for the period."""

    key: Mapping[str, Any]
    time: Time
    lines: Mapping[str, Line]
    reason: Reason
    time_column: str = "at"
    with_threshold: bool = False

    def predict(self, attribute: str, time: Time) -> float | None:
        """The value that the update says for a time; None where the sensor did not know."""
        line = self.lines[attribute]
        if line.value is None or line.rate is None:
            return None
        return line.value + line.rate * (seconds_of(time) - seconds_of(self.time))

    def row(self) -> dict[str, Any]:
        """The columns of a predicted stream: key, time, of each attribute value, rate and, if sent, threshold."""
        row: dict[str, Any] = {**self.key, self.time_column: self.time}
        for name, line in self.lines.items():
            row[f"{name}_value"] = line.value
            row[f"{name}_rate"] = line.rate
            if self.with_threshold:
                row[f"{name}_threshold"] = line.threshold
        return row


def seconds_of(time: Time) -> float:
    if not isinstance(time, datetime):
        return float(time)
    if time.tzinfo is None:
        # Local time jumps twice a year.
        time = time.replace(tzinfo=UTC)
    return time.timestamp()
