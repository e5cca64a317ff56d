"""Update-tuples of a stream, and when each is in force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column, ints
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.pieces import InForce, Pieces, complete, in_force
from presage.operators.prediction.kernel.query import TIME, Stream

# Without a period a function holds until the next update: some 140 years at most.
FOR_EVER = 1 << 52


@dataclass(frozen=True)
class Updates:
    """Rows of a stream, in order of time and arrival. `key`: codes. `value`, `rate`, `threshold`: a row for each
    update, a column for each predicted attribute; NaN where one is missing."""

    rows: pa.Table
    time: Ints
    key: Ints
    value: Floats
    rate: Floats
    threshold: Floats

    def __len__(self) -> int:
        return len(self.time)

    def alive(self, period: int | None) -> InForce:
        return in_force(self.key, self.time, FOR_EVER if period is None else period)

    def pieces(self, alive: InForce, code: Ints, chosen: Bools | None) -> Pieces:
        """The functions in force of the `chosen` rows, by the code of each row."""
        row, start, end, end_open = alive
        if chosen is not None:
            kept = chosen[row]
            row, start, end, end_open = row[kept], start[kept], end[kept], end_open[kept]
        # A tuple that replaces an evicted one may be in force before its own time.
        moved = (start - self.time[row]) / 1e6
        value = self.value[row]
        if moved.any():
            with np.errstate(over="ignore", invalid="ignore"):
                value = value + self.rate[row] * moved[:, None]
        parts = value, self.rate[row], self.threshold[row]
        return Pieces(code[row], start, end, end_open, *(np.ascontiguousarray(part) for part in parts))


def read_updates(stream: Stream, rows: pa.Table) -> Updates:
    key, _ = equality_codes([rows.column(name) for name in stream.key], rows.num_rows)
    value, rate, threshold = (_matrix(rows, names) for names in (stream.value, stream.rate, stream.threshold))
    # A function without a rate or a threshold is not used.
    value[~complete(value, rate, threshold)] = np.nan
    return Updates(rows, ints(rows, TIME), key, value, rate, threshold)


def _matrix(rows: pa.Table, names: tuple[str, ...]) -> Floats:
    """NULL is NaN."""
    columns = [column(rows, name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names]
    made: Floats = np.ascontiguousarray(np.stack(columns, axis=1)) if columns else np.empty((rows.num_rows, 0))
    return made
