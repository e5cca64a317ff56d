"""Every compiled loop has one signature, and warming up after installation reaches all of them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json
from presage.operators.{operator}.kernel.warm import warm
from presage.arrays.jit import LOOPS
warm()
place = "presage.operators.{operator}."
own = {{name: loop for name, loop in LOOPS.items() if loop.py_func.__module__.startswith(place)}}
shared = {{name: loop for name, loop in LOOPS.items() if name not in own and "{operator}" == "windows"}}
print(json.dumps({{name: len(loop.signatures) for name, loop in (own | shared).items()}}))
"""


# In a process of its own: what other tests have compiled says nothing of what warming up does.
@pytest.mark.parametrize("operator", ["windows", "epl", "match", "sequence", "prediction", "recall"])
def test_warming_up_compiles_every_loop_once(operator: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(operator=operator)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    signatures = json.loads(done.stdout)
    assert len(signatures) >= 5
    assert {name: count for name, count in signatures.items() if count != 1} == {}
