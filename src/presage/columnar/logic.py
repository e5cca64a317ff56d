"""AND, OR and NOT in three-valued logic, and the choice between vectors: CASE, COALESCE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.vectors import Bools, Cells, Flat, Ints, Vector, both_valid, joint_length, take, to_cells
from presage.model import types as t
from presage.model.types import DataType, DecimalOf


def all_of(*operands: Flat) -> Flat:
    return _folded(operands, False)


def any_of(*operands: Flat) -> Flat:
    return _folded(operands, True)


def _folded(operands: tuple[Flat, ...], decisive: bool) -> Flat:
    """`decisive` is the value of one operand that decides the result: false for AND, true for OR."""
    join, found = (np.logical_or if decisive else np.logical_and), None
    unknown: Bools | None = None
    decided: Bools | None = None
    for operand in operands:
        values = operand.values
        if operand.valid is not None:
            # A NULL counts as the neutral value, and is marked as unknown.
            values = (values & operand.valid) if decisive else (values | ~operand.valid)
            unknown = ~operand.valid if unknown is None else unknown | ~operand.valid
        found = values if found is None else join(found, values)
    assert found is not None
    if unknown is None:
        return Flat(found)
    decided = found if decisive else ~found
    return Flat(found, decided | ~unknown)


def negation(operand: Flat) -> Flat:
    return Flat(~operand.values, operand.valid)


def is_null(operand: Vector) -> Flat:
    valid = operand.valid
    return Flat(np.zeros(1, np.bool_)) if valid is None else Flat(~valid)


def is_true(condition: Flat) -> Bools:
    return condition.values if condition.valid is None else condition.values & condition.valid


# -- choosing -------------------------------------------------------------------------------------------


def choose(condition: Bools, yes: Vector, no: Vector, data_type: DataType) -> Vector:
    """`yes` where the condition holds, else `no`."""
    if isinstance(yes, Flat) and isinstance(no, Flat):
        values = np.where(condition, yes.values, no.values)
        if yes.valid is None and no.valid is None:
            return Flat(values)
        valid = np.where(condition, True if yes.valid is None else yes.valid, True if no.valid is None else no.valid)
        return Flat(values, valid)
    if len(condition) == 1:
        return yes if condition[0] else no
    if data_type in (t.STRING, t.BYTES) or isinstance(data_type, DecimalOf):
        assert isinstance(yes, Cells)
        assert isinstance(no, Cells)
        options = [v.scalar if len(v) == 1 else v.array for v in (yes, no)]
        return Cells(pc.if_else(pa.array(condition), *options))
    return pick([yes, no], np.where(condition, 0, 1), data_type)


def pick(options: list[Vector], which: Ints, data_type: DataType) -> Vector:
    """For each row the value of the option with this number; -1 gives NULL."""
    rows = np.arange(len(which))
    starts = np.cumsum([0] + [len(option) for option in options[:-1]])
    single = np.array([len(option) == 1 for option in options])
    places = starts[which] + np.where(single[which], 0, rows)
    joined = pa.concat_arrays([to_cells(option, data_type) for option in options])
    return take(Cells(joined), np.where(which < 0, -1, places))


def case_when(data_type: DataType) -> Callable[..., Vector]:
    """Takes conditions and values in turn, then the ELSE value."""

    def run(*parts: Any) -> Vector:
        result: Vector = parts[-1]
        for i in range(len(parts) - 3, -1, -2):
            result = choose(is_true(parts[i]), parts[i + 1], result, data_type)
        return result

    return run


def first_valid(data_type: DataType) -> Callable[..., Vector]:
    """COALESCE."""

    def run(*options: Vector) -> Vector:
        result = options[-1]
        for option in reversed(options[:-1]):
            result = option if option.valid is None else choose(option.valid, option, result, data_type)
        return result

    return run


def null_where(condition: Bools, vector: Vector, data_type: DataType) -> Vector:
    """NULL where the condition holds."""
    if isinstance(vector, Flat):
        return Flat(vector.values, both_valid(vector.valid, ~condition))
    length = joint_length(vector, Flat(condition))
    rows = np.where(np.broadcast_to(condition, length), -1, np.arange(length))
    return take(vector, rows)
