"""Programs and periods of a pattern by Python's own values: rows in, a value or a time out."""

from __future__ import annotations

import datetime as dt
from typing import Any

from presage.arrays.programs import code as op

Row = dict[str, Any]
EPOCH = dt.datetime(1970, 1, 1)


def plain(value: Any) -> Any:
    """NaN equals NaN, -0.0 equals 0.0, and null is a value of its own."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


ERA = 146_097 * 86_400_000_000  # 400 years, after which the calendar repeats


def add_months(time: int, months: int) -> int:
    if not months:
        return time
    era, time = divmod(time, ERA)
    era, time = (era, time) if months > 0 else (era - 1, time + ERA)
    moment = EPOCH + dt.timedelta(microseconds=time)
    total = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(total, 12)
    first = dt.datetime(year, month + 1, 1)
    after = dt.datetime(year + (month == 11), (month + 1) % 12 + 1, 1)
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, (after - first).days))
    return (moved - EPOCH) // dt.timedelta(microseconds=1) + era * ERA


def evaluate(code: op.Code, program: int, rows: list[Row | None]) -> Any:
    """A program by a stack of Python's own values; only the operations that the tests of patterns write."""
    whole = [name for name, bank in code.columns if bank != op.FLOAT]
    doubles = [name for name, bank in code.columns if bank == op.FLOAT]
    words = list(code.ops[code.starts[program] : code.starts[program + 1]])
    stack: list[Any] = []
    while words:
        word = words.pop(0)
        if word == op.CONST_I:
            stack.append(int(code.ints[words.pop(0)]))
        elif word == op.CONST_F:
            stack.append(float(code.floats[words.pop(0)]))
        elif word == op.CONST_TEXT:
            stack.append(code.texts[words.pop(0)])
        elif word in (op.LOAD_I, op.LOAD_F):
            row, column = rows[words.pop(0)], words.pop(0)
            stack.append(None if row is None else row[(whole if word == op.LOAD_I else doubles)[column]])
        elif word == op.TO_F:
            stack.append(None if stack[-1] is None else float(stack.pop()))
        else:
            right, left = stack.pop(), stack.pop()
            if word in (op.ADD_I,):
                words.pop(0)
            stack.append(None if left is None or right is None else TWO[word](left, right))
    return stack[0]


TWO = {
    op.EQ_I: lambda a, b: a == b,
    op.NE_I: lambda a, b: a != b,
    op.LT_I: lambda a, b: a < b,
    op.GT_I: lambda a, b: a > b,
    op.GE_I: lambda a, b: a >= b,
    op.EQ_F: lambda a, b: plain(a) == plain(b),
    op.ADD_I: lambda a, b: a + b,
    op.ADD_F: lambda a, b: a + b,
}
