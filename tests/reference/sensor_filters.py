"""Double exponential smoothing and the Kalman filter as textbooks write them: a recurrence, and matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Sample = tuple[float, float]


def holt(samples: Sequence[float], alpha: float, beta: float) -> tuple[float, float]:
    """Level and trend per step of evenly spaced samples, begun with the first two."""
    level, trend = samples[1], samples[1] - samples[0]
    for sample in samples[2:]:
        before = level
        level = alpha * sample + (1 - alpha) * (level + trend)
        trend = beta * (level - before) + (1 - beta) * trend
    return level, trend


def kalman(samples: Sequence[Sample], process: float, noise: float, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of (value, rate) at the last sample. The update in Joseph's form, which stays symmetric."""
    (before, first), *rest = samples
    mean, covariance = np.array([first, 0.0]), np.diag([noise**2, spread**2])
    measure = np.array([[1.0, 0.0]])
    for time, value in rest:
        passed = time - before
        move = np.array([[1.0, passed], [0.0, 1.0]])
        drift = process * np.array([[passed**3 / 3, passed**2 / 2], [passed**2 / 2, passed]])
        mean = move @ mean
        covariance = move @ covariance @ move.T + drift
        gain = covariance @ measure.T / (measure @ covariance @ measure.T + noise**2)
        mean = mean + gain[:, 0] * (value - mean[0])
        left = np.eye(2) - gain @ measure
        covariance = left @ covariance @ left.T + noise**2 * gain @ gain.T
        before = time
    return mean, covariance
