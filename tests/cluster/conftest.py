"""The session of these tests is on the cluster, however the run was started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cluster.standalone import Cluster, cluster_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = cluster_session(cluster, tmp_path_factory.mktemp("warehouse"))
    yield session
    session.stop()
