"""Arrays that grow at either end, at amortized constant cost per element."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

S = TypeVar("S", np.int64, np.float64)


class Growing(Generic[S]):
    """An array with free capacity before and behind it."""

    def __init__(self, values: npt.NDArray[S]) -> None:
        self._buffer: npt.NDArray[S] = values.copy()
        self._start, self._stop = 0, len(values)

    def __len__(self) -> int:
        return self._stop - self._start

    def view(self) -> npt.NDArray[S]:
        """All elements; writing to the view writes to the array, until it grows."""
        held: npt.NDArray[S] = self._buffer[self._start : self._stop]
        return held

    def append(self, values: npt.NDArray[S]) -> None:
        if self._stop + len(values) > len(self._buffer):
            self._move(self._start, len(self) + 2 * len(values))
        self._buffer[self._stop : self._stop + len(values)] = values
        self._stop += len(values)

    def prepend(self, values: npt.NDArray[S]) -> None:
        if len(values) > self._start:
            self._move(len(self) + 2 * len(values), len(self._buffer) - self._stop)
        self._start -= len(values)
        self._buffer[self._start : self._start + len(values)] = values

    def _move(self, before: int, behind: int) -> None:
        held = self.view()
        buffer = np.zeros(before + len(held) + behind, held.dtype)
        buffer[before : before + len(held)] = held
        self._buffer, self._start, self._stop = buffer, before, before + len(held)
