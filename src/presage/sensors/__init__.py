"""The library of the device: sends an update-tuple only when the last prediction no longer holds.

The standard library is all it needs, so that it can be copied to a small machine by itself.
"""

from __future__ import annotations

from presage.sensors.kalman import Kalman
from presage.sensors.predictors import Constant, Holt, Linear, Predictor
from presage.sensors.sensor import Adaptive, Sensor
from presage.sensors.update import Update

__all__ = ["Adaptive", "Constant", "Holt", "Kalman", "Linear", "Predictor", "Sensor", "Update"]
