"""Casts of vectors from one type to another; NULL where a value cannot be converted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from presage.columnar import decimals
from presage.columnar.arithmetic import LEAST
from presage.columnar.distinct import per_distinct
from presage.columnar.reshape import widened
from presage.columnar.text_values import date_text, decoded, reader, timestamp_text
from presage.columnar.vectors import DTYPES, Cells, Flat, Vector, both_valid, is_flat, nothing, to_cells
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.calendar import DAY, MOST_DAYS
from presage.model.types import DataType, DecimalOf

Cast = Callable[..., Vector]


def cast(source: DataType, target: DataType) -> Cast | None:
    """None for DOUBLE to STRING: how many digits Spark writes depends on the version of Java below it."""
    if source == target:
        return lambda vector: vector
    if source == t.NULL:
        null = nothing(target)
        return lambda vector: null
    if target == t.STRING:
        return _to_text(source)
    if isinstance(target, DecimalOf):
        return decimals.from_number(source, target)
    if isinstance(source, DecimalOf):
        return decimals.to_number(source, target)
    if (source, target) == (t.DATE, t.TIMESTAMP):
        return _midnight
    if (source, target) == (t.TIMESTAMP, t.DATE):
        return _day
    if (source, target) == (t.STRING, t.BYTES):
        return lambda vector: Cells(to_cells(vector, source).cast(pa.binary()))
    if source == t.STRING:
        return per_distinct(reader(target), (t.STRING,), target)
    if not is_flat(target):
        arrow = to_arrow(target)
        return lambda vector: Cells(widened(to_cells(vector, source), arrow))
    if target == t.BOOLEAN:
        return _nonzero
    least = LEAST.get(target)
    if least is not None and source in (t.LONG, t.DOUBLE):
        return _narrowed(least, target)
    return _plain(DTYPES[target])


def _midnight(vector: Flat) -> Flat:
    days = vector.values.astype(np.int64)
    fits = np.abs(days) <= MOST_DAYS
    return Flat(np.where(fits, days, 0) * DAY, vector.valid if fits.all() else both_valid(vector.valid, fits))


def _day(vector: Flat) -> Flat:
    return Flat(np.floor_divide(vector.values, DAY).astype(np.int32), vector.valid)


def _plain(dtype: type[np.generic]) -> Cast:
    def run(vector: Flat) -> Flat:
        return Flat(vector.values.astype(dtype), vector.valid)

    return run


def _nonzero(vector: Flat) -> Flat:
    return Flat(vector.values != 0, vector.valid)


def _narrowed(least: int, target: DataType) -> Cast:
    dtype = DTYPES[target]

    def run(vector: Flat) -> Flat:
        values = vector.values
        if values.dtype.kind == "f":
            # As in Spark: 2.0**63, the greatest LONG as a DOUBLE, is cast to that LONG.
            fits = (np.floor(values) <= float(-least - 1)) & (np.ceil(values) >= float(least))
            with np.errstate(invalid="ignore"):
                whole = np.where(values >= 2.0**63, 2**63 - 1, values.astype(np.int64))
        else:
            fits, whole = (values >= least) & (values < -least), values
        return Flat(whole.astype(dtype), vector.valid if fits.all() else both_valid(vector.valid, fits))

    return run


def _to_text(source: DataType) -> Cast | None:
    if source == t.DOUBLE:
        return None
    if source == t.TIMESTAMP:
        return per_distinct(timestamp_text, (t.TIMESTAMP,), t.STRING)
    if source == t.DATE:
        return per_distinct(date_text, (t.DATE,), t.STRING)
    if source == t.BYTES:
        return per_distinct(decoded, (t.BYTES,), t.STRING)
    if isinstance(source, DecimalOf):
        return decimals.to_text(source)
    return lambda vector: Cells(to_cells(vector, source).cast(pa.string()))
