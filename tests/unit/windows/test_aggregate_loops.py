"""The compiled loops of the kernels: few, and the same ones for every query."""

from __future__ import annotations

from presage.arrays.jit import LOOPS
from presage.windows.kernel.warm import warm


def test_warming_up_compiles_every_loop_once():
    warm()
    # Also after all other tests of the process: no type of column, no query makes a second form of a loop.
    assert {name: len(loop.signatures) for name, loop in LOOPS.items()} == dict.fromkeys(LOOPS, 1)
    assert len(LOOPS) < 50
