"""A loading process, killed as the system kills: nothing that it was told is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from presage.storage import Log
from recovery.crashing import contents, row, sequence_numbers, stream

TICK = stream()
LOADS = 6
PROGRAM = """
import os, signal, sys
from recovery.crashing import row, stream
from presage.storage import Log
from presage.storage import failpoints

class Kill(failpoints.Failpoints):
    tables = 0
    def reach(self, point):
        self.tables += point == failpoints.TABLE_COMMITTED
        if self.tables == 8:
            os.kill(os.getpid(), signal.SIGKILL)

log = Log.open(sys.argv[1], points=Kill())
log.create_stream(stream())
for i in range(6):
    log.append(stream(), [row(i, i + 10), row(i, 0), {"x": "bad", "at": "?"}], once=str(i))
    print(i, flush=True)
"""


def test_killed_in_the_middle_of_a_commit_and_run_again_the_log_is_the_undisturbed_one(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")])
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "killed")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    told = [int(line) for line in run.stdout.split()]
    assert 0 < len(told) < LOADS
    with Log.open(tmp_path / "whole", durable=False) as whole, Log.open(tmp_path / "killed") as killed:
        whole.create_stream(TICK)
        for i in range(LOADS):
            rows = [row(i, i + 10), row(i, 0), {"x": "bad", "at": "?"}]
            whole.append(TICK, rows, once=str(i))
            # The load that was cut had passed the point of commit: it is there without having been confirmed.
            assert killed.append(TICK, rows, once=str(i)).duplicate == (i <= len(told))
        assert contents(killed) == contents(whole)
        assert sequence_numbers(killed) == list(range(1, killed.position + 1))
