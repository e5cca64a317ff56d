"""Tests against real servers, installed and started on the loopback: `make integration`. One module for each server."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.kafka_broker import kafka_broker, kafka_session, topics
from integration.mosquitto import mosquitto

HERE = Path(__file__).parent
__all__ = ["kafka_broker", "kafka_session", "mosquitto", "topics"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)
