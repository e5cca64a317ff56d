"""A trace and a predictor in, the update-tuples that its sensors send out, in order of arrival; and the truth in such
tuples: all samples, or where the objects really go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simulator import SECOND, Scenario, Trace, position

from presage.sensors import Constant, Holt, Kalman, Linear, Predictor, Sensor


def predictors(scenario: Scenario) -> dict[str, Predictor]:
    """What a sensor may predict with. Weights and process noise were chosen for few messages; the filter is told how
    exact GPS is."""
    return {
        "linear": Linear(),
        "Holt": Holt(alpha=0.9, beta=0.9),
        "Kalman": Kalman(process=30.0, noise=max(scenario.noise, 2.0), spread=30.0),
        "none": Constant(),
    }


@dataclass(frozen=True)
class Updates:
    """In order of `arrival`. Times are microseconds; `values` and `rates` have columns for x and y."""

    arrival: np.ndarray
    time: np.ndarray
    key: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    reasons: dict[str, int]

    def __len__(self) -> int:
        return len(self.time)


def send(trace: Trace, predictor: Predictor, max_delay: float = 0.0, seed: int = 0) -> Updates:
    """Each update arrives after a delay of its own, any from 0 to `max_delay` seconds alike."""
    scenario = trace.scenario
    rows: list[tuple[int, int, float, float, float, float]] = []
    reasons = {"first": 0, "correction": 0, "heartbeat": 0}
    for number, (times, places) in enumerate(zip(trace.times, trace.places, strict=True)):
        sensor = Sensor(
            number,
            ("x", "y"),
            predictor=predictor,
            threshold=scenario.threshold,
            period=scenario.period,
            every=scenario.sample_every,
            key_column="car",
        )
        for time, (x, y) in zip(times.tolist(), places.tolist(), strict=True):
            update = sensor.sample(time / SECOND, x=x, y=y)
            if update is not None:
                row = update.row()
                rows.append((time, row["car"], row["x_value"], row["y_value"], row["x_rate"], row["y_rate"]))
                reasons[update.reason] += 1
    table = np.array(rows)
    time, key = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    delay = np.random.default_rng((seed, 4)).random(len(time)) * max_delay
    arrival = time + (delay * SECOND).astype(np.int64)
    order = np.lexsort((key, time, arrival))
    return Updates(arrival[order], time[order], key[order], table[order, 2:4], table[order, 4:6], reasons)


def all_samples(trace: Trace) -> Updates:
    """Every sample, each of which holds until the next."""
    key = np.repeat(np.arange(len(trace.times)), [len(times) for times in trace.times])
    return _told(np.concatenate(trace.times), key, np.concatenate(trace.places), np.zeros((len(key), 2)))


def real_tracks(trace: Trace) -> Updates:
    """A function for every straight stretch that an object goes."""
    parts = []
    for number in range(trace.scenario.objects):
        times = trace.legs(number)
        places = position(trace, number, times / SECOND)
        rates = np.diff(places, axis=0) / (np.diff(times) / SECOND)[:, None]
        parts.append((times[:-1], np.full(len(rates), number), places[:-1], rates))
    return _told(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _told(time: np.ndarray, key: np.ndarray, values: np.ndarray, rates: np.ndarray) -> Updates:
    order = np.lexsort((key, time))
    return Updates(time[order], time[order], key[order], values[order], rates[order], {})
