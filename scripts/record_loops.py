"""A plugin of pytest: writes what each compiled loop was given and what it gave, as hashes, to the file RECORDED_LOOPS.

`scripts/same_bits.py` runs tests with it twice. A line is a loop, a hash of its arguments before and one of its
arguments after the call and of its result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import IO, Any

import numpy as np
import pytest


class Recorder:
    """Takes the place of a compiled loop in modules and closures; compiled callers see the loop."""

    def __init__(self, name: str, loop: Any, file: IO[str]) -> None:
        self.name, self.loop, self.file = name, loop, file
        self._numba_type_ = loop._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        before = _hash(arguments)
        result = self.loop(*arguments)
        self.file.write(f"{self.name} {before} {_hash((arguments, result))}\n")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loop, name)


def _hash(value: Any) -> str:
    digest = sha256()
    for part in _parts(value):
        digest.update(part)
    return digest.hexdigest()[:20]


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, tuple | list):
        yield b"("
        for each in value:
            yield from _parts(each)
    elif isinstance(value, np.ndarray | np.generic | int | float):
        array = np.ascontiguousarray(value)
        yield f"{array.dtype}{array.shape}".encode()
        yield array.tobytes()
    else:
        yield repr(value).encode()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """By now all modules are loaded. Modules that are loaded later have the loops themselves."""
    from presage.arrays.jit import LOOPS

    file = open(os.environ["RECORDED_LOOPS"], "a", buffering=1)  # noqa: SIM115, it stays open to the end
    recorders = {id(loop): Recorder(name, loop, file) for name, loop in LOOPS.items()}
    for name, module in list(sys.modules.items()):
        if not name.startswith("presage."):
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in recorders:
                setattr(module, attribute, recorders[id(value)])
            for cell in getattr(value, "__closure__", None) or ():
                if id(cell.cell_contents) in recorders:
                    cell.cell_contents = recorders[id(cell.cell_contents)]
