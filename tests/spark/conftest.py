"""What tests on Spark share: none leaves behind what would run beside the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from presage.execution import placement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def no_query_is_small() -> Iterator[None]:
    """What these tests show is Spark's: queries do not run in this process, unless they are told to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "MOST_ROWS", -1)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_query_is_left_running(spark: SparkSession) -> Iterator[None]:
    """Asked after the engines of the module are closed: a stream that idles asks for news without end."""
    before = {query.id for query in spark.streams.active}
    yield
    assert [query.name or query.id for query in spark.streams.active if query.id not in before] == []
