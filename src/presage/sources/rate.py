"""`source = 'rate'`: synthetic rows. A row is a function of its number and of the source's start time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.arrays.decimals import to_array
from presage.model.arrow import to_arrow
from presage.model.catalog import EventType
from presage.model.time import format_timestamp, parse_timestamp, wall_clock
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    StructOf,
)
from presage.sources.source import PAUSE, Source
from presage.storage import ROW, Arrival, Checked, Cursor, Delivery
from presage.storage.columns import attributes_schema

ROWS_AT_ONCE = 250_000
ROWS_PER_SECOND = 1.0
KEYS = 10  # different values of a STRING
GOLDEN = 0.6180339887498949  # the fractional parts of its multiples are evenly distributed between 0 and 1
Numbers = npt.NDArray[np.int64]


class RateSource(Source):
    """A fixed number of rows per second. After an outage the missed rows follow, so that the stream has no gap."""

    name = "rate"

    def __init__(self, event_type: EventType, now: Callable[[], int] = wall_clock) -> None:
        super().__init__()
        options = event_type.options
        self._type = event_type
        self._now = now
        self._rate = float(options.get("rows_per_second", ROWS_PER_SECOND))
        self._keys = int(options.get("keys", KEYS))
        self._rows = int(options["rows"]) if "rows" in options else None
        self._start = parse_timestamp(options["start"]) if "start" in options else None

    def read(self, cursor: Cursor | None) -> Delivery | None:
        now = self._now()
        start, first = (cursor["start"], cursor["next"]) if cursor is not None else (self._start, 0)
        start = now if start is None else start
        due = int((now - start) * self._rate / 1e6) + 1 if now >= start else 0
        due = due if self._rows is None else min(due, self._rows)
        count = min(due - first, ROWS_AT_ONCE)
        self.finished = self._rows is not None and first >= self._rows
        if count <= 0:
            self.pause = min(max(PAUSE, (start - now) / 1e6 + first / self._rate), 60 * PAUSE)
            return None
        rows = self._rows_of(np.arange(first, first + count), start)
        return Delivery(self.name, cursor, {"start": start, "next": first + count}, [Arrival("", Checked(rows))])

    def position(self, cursor: Cursor | None) -> str:
        if cursor is None:
            return "not begun"
        return f"{cursor['next']} rows since {format_timestamp(cursor['start'])}"

    def _rows_of(self, numbers: Numbers, start: int) -> pa.Table:
        times = pa.array(start + (numbers * (1e6 / self._rate)).astype(np.int64)).cast(to_arrow(TIMESTAMP))
        columns = [self._column(a.name, a.type, numbers, times) for a in self._type.attributes]
        table = pa.Table.from_arrays(columns, schema=attributes_schema(self._type.attributes))
        return table.append_column(ROW, pa.array(numbers + 1))

    def _column(self, name: str, wanted: DataType, numbers: Numbers, times: pa.Array) -> pa.Array:
        """The values of an attribute by its type; null for other types."""
        if wanted == TIMESTAMP:
            return times
        if wanted == DATE:
            return times.cast(pa.date32(), safe=False)
        if isinstance(wanted, DecimalOf):
            return to_array(numbers % 10 ** min(wanted.precision, 18), None, to_arrow(wanted))
        if wanted == BYTES:
            return self._column(name, STRING, numbers, times).cast(pa.binary())
        if wanted in (INT, LONG):
            return pa.array(numbers % 2**31 if wanted == INT else numbers).cast(to_arrow(wanted))
        if wanted == DOUBLE:
            return pa.array(np.modf(numbers * GOLDEN)[0])
        if wanted == BOOLEAN:
            return pa.array(numbers % 2 == 0)
        if wanted == STRING:
            values = pa.array([f"{name}-{key}" for key in range(self._keys)])
            return values.take(pa.array(numbers % self._keys))
        if isinstance(wanted, ArrayOf):
            items = self._column(name, wanted.element, numbers, times)
            return pa.ListArray.from_arrays(np.arange(len(numbers) + 1, dtype=np.int32), items).cast(to_arrow(wanted))
        if isinstance(wanted, StructOf):
            parts = [self._column(field, kind, numbers, times) for field, kind in wanted.fields]
            return pa.StructArray.from_arrays(parts, [field for field, _ in wanted.fields]).cast(to_arrow(wanted))
        return pa.nulls(len(numbers), to_arrow(wanted))
