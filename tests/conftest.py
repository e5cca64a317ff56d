"""Shared by all tests: one lazy Spark session, Hypothesis profiles, and the order quick before slow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cluster.standalone import Cluster

TESTS = Path(__file__).parent
# Where Python is told to keep no bytecode, as in many containers, every process that a test starts, and every worker of
# Spark, would compile the whole package for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Queries of a few rows end before the second compiler of the JVM pays; it would take the other half's processor.
BRIEF_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# The suite tries the same examples for everybody. `seeded` is for --hypothesis-seed, which a derandomized run ignores;
# `soak` searches further. None of them has a database of examples: a failure that was found is kept as a test.
settings.register_profile("suite", max_examples=100, deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("seeded", settings.get_profile("suite"), derandomize=False)
settings.register_profile(
    "soak",
    settings.get_profile("seeded"),
    max_examples=int(os.environ.get("SOAK_EXAMPLES") or 500),
    suppress_health_check=[HealthCheck.too_slow],
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or "suite"
settings.load_profile(PROFILE)


def pytest_configure(config: pytest.Config) -> None:
    if PROFILE == "suite" and config.getoption("--hypothesis-seed"):
        settings.load_profile("seeded")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on",
        choices=("local", "cluster", "connect"),
        default="local",
        help="where tests that need Spark run: in this process, on a standalone cluster, or there over Spark Connect",
    )


# Where what needs Spark lies. A run with or without Spark alone does not so much as read the files of the other.
WITH_SPARK = [TESTS / name for name in ("spark", "cluster", "integration", "recovery/test_live_kill.py")]


def may_need_spark(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in WITH_SPARK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not collection_path.is_file():
        return None
    marked = config.getoption("markexpr")
    alone = TESTS / "spark" in collection_path.parents
    return (marked == "spark" and not may_need_spark(collection_path)) or (marked == "not spark" and alone) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Spark, and run it last: without Spark the answer comes in seconds."""
    on = {config.getoption("--on")}
    if PROFILE != "soak":
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("soak")])
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
    elsewhere = [item for item in items if (mark := item.get_closest_marker("on")) and not on & set(mark.args)]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]
    for item in items:
        if TESTS / "spark" in item.path.parents or "spark" in getattr(item, "fixturenames", ()):
            if not may_need_spark(item.path):
                raise pytest.UsageError(f"{item.nodeid} needs Spark: move it to tests/spark")
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster whose workers know Presage from the wheel alone."""
    from cluster.standalone import Cluster

    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the run. It is a user's session: Presage must work with it as it is."""
    on = request.config.getoption("--on")
    if on == "local":
        yield from _local_session(tmp_path_factory)
        return
    from cluster.standalone import cluster_session, connect_session

    started: Cluster = request.getfixturevalue("cluster")
    with ExitStack() as ending:
        if on == "connect":
            session = connect_session(started, ending.enter_context(started.connect_server()))
        else:
            session = cluster_session(started, tmp_path_factory.mktemp("warehouse"))
        ending.callback(session.stop)
        yield session


def _local_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    # Imported here, so that a run without Spark never loads it.
    from pyspark.sql import SparkSession

    from presage.execution.spark.java import find_java

    os.environ["JAVA_HOME"] = str(find_java())
    # Spark starts its workers with the first python3 on PATH, which need not be the one of this environment.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("presage-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", BRIEF_JVM)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        # Off by default; without it a column of the wrong type dies in the JVM instead of naming itself.
        .config("spark.sql.execution.arrow.pyspark.validateSchema.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
