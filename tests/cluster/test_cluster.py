"""On a standalone cluster: the wheel that was shipped runs, and workers that are killed at work change no row."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cluster.capabilities import DECLARATIONS, QUERIES, fill, rows, ticks
from cluster.standalone import Cluster
from presage import Engine
from presage.execution.spark.executor_tasks import run_on_executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.on("cluster")
WINDOW = "SELECT sym, avg(price) AS mean, count(*) AS n FROM Tick#length(5) WITHIN [2024-01-01, ) GROUP BY sym"
PATTERN = QUERIES["pattern"] + " WITHIN [2024-01-01, )"
LOADS, PER_LOAD = 4, 20_000


@pytest.fixture(scope="module")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(spark, tmp_path_factory.mktemp("filled") / "home") as engine:
        fill(engine)
        yield engine


def test_workers_run_the_wheel_that_was_shipped_and_see_no_source_tree(spark: SparkSession, cluster: Cluster) -> None:
    def where(_: int) -> tuple[str, str, list[str]]:
        import sys

        import presage

        time.sleep(1)  # so that both executors get one
        return presage.__file__, sys.executable, sys.path

    found = run_on_executors(spark, where, [0, 1])
    source = Path(__file__).parents[2] / "src"
    for file, python, path in found:
        assert cluster.wheel.name in file
        assert python == str(cluster.python)
        assert not [folder for folder in path if Path(folder).resolve() == source]


def test_compiled_kernels_are_kept_once_for_all_executors_and_the_driver(spark: SparkSession) -> None:
    def kept(_: int) -> tuple[str, int]:
        import os

        from presage.arrays.kernel_folders import user_folder

        folder = user_folder().path
        return str(folder), os.stat(folder).st_mode & 0o777

    (here,) = {kept(0)}
    assert set(run_on_executors(spark, kept, [0, 1, 2, 3])) == {here}
    assert here[1] == 0o700


@pytest.mark.parametrize("capability", QUERIES)
def test_a_query_on_the_cluster_has_the_rows_of_the_driver(capability: str, filled: Engine) -> None:
    on_cluster = rows(filled.query(QUERIES[capability]).df.toArrow())
    here = rows(filled.query(QUERIES[capability], mode="stream", batches=3).to_arrow())
    assert on_cluster == here
    assert on_cluster


def killed_when(hit: Callable[[], bool], kill: Callable[[], None]) -> threading.Thread:
    """A thread that kills as soon as it is time."""

    def wait() -> None:
        while not hit():
            time.sleep(0.01)
        kill()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_an_executor_killed_in_the_middle_of_a_query_changes_no_row(
    spark: SparkSession, cluster: Cluster, filled: Engine
) -> None:
    expected = rows(filled.query(QUERIES["match"]).df.toArrow())
    tracker = spark.sparkContext.statusTracker()

    def working() -> bool:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        return any(stage is not None and stage.numActiveTasks for stage in stages)

    before = cluster.executors()
    frame = filled.query(QUERIES["match"]).df
    killer = killed_when(working, lambda: os.kill(before[0], signal.SIGKILL))
    assert rows(frame.toArrow()) == expected
    killer.join(timeout=10)
    assert not killer.is_alive()
    # The master gives the application another one.
    cluster.wait(lambda: len(cluster.executors()) == 2 and cluster.executors()[0] != before[0], "no executor came back")
    assert rows(filled.query(QUERIES["match"]).df.toArrow()) == expected


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of the deployed statements where everything happens on the driver."""
    with Engine(spark, tmp_path_factory.mktemp("whole") / "home") as engine:
        return stood(engine)


def stood(engine: Engine) -> dict[str, Any]:
    engine.execute(DECLARATIONS)
    deployments = {"window": engine.deploy(WINDOW, name="window"), "pattern": engine.deploy(PATTERN, name="pattern")}
    for number in range(LOADS):
        engine.load("Tick", ticks(PER_LOAD, first=number * PER_LOAD))
        for live in deployments.values():
            live.drain(timeout=900)
    for live in deployments.values():
        assert live.status.last_error is None
    return {name: live.table().to_pylist() for name, live in deployments.items()}


class Accident:
    """Wraps the calls to workers: in the second batch one of them says where it is and waits to be killed, before or
    after it has done its share."""

    def __init__(self, folder: Path, when: str) -> None:
        self.folder, self.when, self.batches = folder, when, 0

    def __call__(self, workers: Callable[..., Any]) -> Callable[..., Any]:
        def call(function: Callable[[Any], Any], shares: list[Any]) -> Any:
            self.batches += 1
            if self.batches != 2:
                return workers(function, shares)
            told, when, first = str(self.folder / "told"), self.when, shares[0].tasks[0].shard

            def unlucky(share: Any) -> Any:
                import os
                import time

                victim = share.tasks[0].shard == first and not os.path.exists(told)
                done = function(share) if when == "after" else None
                if victim:
                    with open(told + ".new", "w") as file:
                        file.write(str(os.getpid()))
                    os.rename(told + ".new", told)
                    time.sleep(120)
                return done if done is not None else function(share)

            return workers(unlucky, shares)

        return call


@pytest.mark.parametrize(("what", "when"), [("python", "before"), ("executor", "after"), ("worker", "before")])
def test_a_process_killed_in_the_middle_of_a_live_batch_changes_no_row(
    what: str, when: str, spark: SparkSession, cluster: Cluster, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    accident = Accident(tmp_path, when)

    def kill() -> None:
        python = int((tmp_path / "told").read_text())
        executor = parent(parent(python))  # it was forked from a daemon
        if what == "python":
            os.kill(python, signal.SIGKILL)
            return
        if what == "executor":
            os.kill(executor, signal.SIGKILL)
        else:
            number = cluster.worker_of(executor)
            cluster.kill_worker(number)
            cluster.start_worker(number)

    killer = killed_when((tmp_path / "told").exists, kill)
    with Engine(spark, tmp_path / "home", rows_on_driver=1_000) as engine:
        job = engine._deployments.job
        job._workers = accident(job._workers)
        found = stood(engine)
    killer.join(timeout=10)
    assert not killer.is_alive()
    assert accident.batches >= LOADS
    assert found == undisturbed


def test_an_application_that_lost_all_executors_gets_others_and_goes_on(
    spark: SparkSession, cluster: Cluster, filled: Engine
) -> None:
    cluster.wait(lambda: len(cluster.executors()) == 2, "two executors")
    expected = rows(filled.query(QUERIES["window"]).df.toArrow())
    before = cluster.executors()
    for executor in before.values():
        os.kill(executor, signal.SIGKILL)
    assert rows(filled.query(QUERIES["window"]).df.toArrow()) == expected
    assert not set(before.values()) & set(cluster.executors().values())


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
