"""An engine with deployed statements, killed as the system kills: run again, it has the undisturbed rows."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine
from presage.storage import failpoints
from recovery.crashing import MemoryDisk
from recovery.living import Living
from recovery.under_load import NAMES, begin, load

LIVES = 30


def start(home: Path, first: int, loads: int, *kill: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")])
    return subprocess.Popen(
        [sys.executable, "-m", "recovery.under_load", str(home), str(first), str(loads), *kill],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def undisturbed(tmp_path: Path, loads: int) -> dict[str, Any]:
    """The same life without Spark and without an accident."""
    with Living(tmp_path / "whole", MemoryDisk()) as home:
        begin((), home.declare, home.deploy)
        for number in range(loads):
            load(home, number)
        home.drain()
        return {name: home.rows(name) for name in NAMES} | {"derived": home.derived("Hot")}


def finished(home: Path, spark: SparkSession, loads: int) -> dict[str, Any]:
    """Open the home again, do what is left, and look."""
    with Engine(spark=spark, home=home) as engine:
        begin(engine.catalog.types, engine.execute, engine.deploy)
        for number in range(loads):
            load(engine, number)
        for name in NAMES:
            engine.deployments[name].drain(60)
            assert engine.deployments[name].status.last_error is None
        found = {name: engine.deployments[name].table().to_pylist() for name in NAMES}
    with Living(home) as living:
        assert {name: living.rows(name) for name in NAMES} == found
        return found | {"derived": living.derived("Hot")}


@pytest.mark.parametrize(("point", "k"), [(failpoints.STATES_WRITTEN, 2), (failpoints.COMMITTED, 9)])
def test_killed_in_the_middle_of_a_batch_and_run_again_no_row_is_lost_or_twice(
    point: str, k: int, spark: SparkSession, tmp_path: Path
) -> None:
    loads = 12
    process = start(tmp_path / "home", 0, loads, point, str(k))
    told, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    assert "ready" in told
    assert "done" not in told
    assert finished(tmp_path / "home", spark, loads) == undisturbed(tmp_path, loads)


@pytest.mark.soak
def test_killed_at_thirty_random_moments_it_has_the_rows_of_an_undisturbed_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    reached, loads = 0, 100_000
    for life in range(LIVES):
        with start(tmp_path / "home", reached, loads) as process:
            assert process.stdout is not None
            # Now and then while it is still coming up.
            killer = threading.Timer(dice.uniform(2, 10), process.kill) if life % 5 == 4 else None
            if killer is not None:
                killer.start()
            for line in process.stdout:
                if line == "ready\n" and killer is None:
                    killer = threading.Timer(dice.uniform(0.1, 4), process.kill)
                    killer.start()
                elif line.strip().isdigit():
                    reached = int(line)
            assert process.wait() == -signal.SIGKILL, process.stderr and process.stderr.read()
        time.sleep(0.1)  # what it had started goes with it
    # The last load that was told, and the one that may have been cut.
    assert finished(tmp_path / "home", spark, reached + 2) == undisturbed(tmp_path, reached + 2)
