"""The side of the device: samples in, update-tuples out, only when what was said last no longer holds.

The standard library is all it needs, so that it can be copied to a small machine by itself.
"""

from __future__ import annotations

from presage.sensors.adaptive import Adaptive
from presage.sensors.kalman import Kalman
from presage.sensors.predictors import Constant, Holt, Linear, Predictor
from presage.sensors.sensor import Sensor
from presage.sensors.update import Update

__all__ = ["Adaptive", "Constant", "Holt", "Kalman", "Linear", "Predictor", "Sensor", "Update"]
