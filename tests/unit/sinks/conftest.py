"""What tests of sinks share: a world whose statement makes rows, and no sink that runs by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.sinks.delivering import Delivering


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Delivering]:
    made = Delivering(tmp_path)
    yield made
    made.close()
