"""Warming up reaches every loop of the buffer, and each has one signature whatever it is fed."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json
import numpy as np
from presage.arrays.jit import LOOPS
from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.warm import warm_buffer

warm_buffer()
own = {name: loop for name, loop in LOOPS.items() if name.startswith("loop.")}
warmed = {name: len(loop.signatures) for name, loop in own.items()}
time, table = np.arange(6, dtype=np.int32)[::2], np.zeros((2, 3)).T
time.flags.writeable = table.flags.writeable = False
for policy in ("min-c", "random"):
    buffer = Buffer(BufferSpec(2, 1, 1, 2, policy))
    buffer.feed(time, time, table, table)
    Buffer.from_state(buffer.spec, buffer.to_state()).advance(9)
print(json.dumps([warmed, {name: len(loop.signatures) for name, loop in own.items()}]))
"""


def test_warming_up_compiles_every_loop_of_the_buffer_once_and_for_all() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    warmed, used = json.loads(done.stdout)
    assert warmed == used == dict.fromkeys(warmed, 1)
    assert len(warmed) == 2
