"""The command without its script: where the folder of scripts is not on the PATH."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_runs_as_the_command() -> None:
    run = subprocess.run([sys.executable, "-m", "presage", "--help"], capture_output=True, text=True, check=False)
    assert (run.returncode, "declare" in run.stdout) == (0, True)
