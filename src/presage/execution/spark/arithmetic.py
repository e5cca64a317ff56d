"""Arithmetic on Catalyst columns of one numeric type. Overflow and division by zero are NULL in every session."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.execution.spark.types import to_spark
from presage.model import types as t
from presage.model.types import DataType, DecimalOf

_INTEGER: dict[str, Callable[[Column, Column], Column]] = {
    "+": lambda a, b: F.try_add(a, b),
    "-": lambda a, b: F.try_subtract(a, b),
    "*": lambda a, b: F.try_multiply(a, b),
    "%": lambda a, b: F.try_mod(a, b),
}
# DOUBLE overflows to infinity, so the plain operators serve; `/` is for DOUBLE alone.
_DOUBLE: dict[str, Callable[[Column, Column], Column]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: F.try_divide(a, b),
    "%": lambda a, b: F.try_mod(a, b),
}
SCALA_DIGITS = 34
# Spark's own result has the digits of the type, unless the session changes the rule.
_DECIMAL = {**_INTEGER, "/": _DOUBLE["/"]}


def rounds_sign(data_type: DataType) -> bool:
    """Whether Spark's minus and abs round the DECIMAL: Scala changes a sign with 34 digits."""
    return isinstance(data_type, DecimalOf) and data_type.precision > SCALA_DIGITS


def compute(operator: str, left: Column, right: Column, data_type: DataType) -> Column:
    if isinstance(data_type, DecimalOf):
        return _DECIMAL[operator](left, right).try_cast(to_spark(data_type))
    return (_DOUBLE if data_type == t.DOUBLE else _INTEGER)[operator](left, right)


def negate(operand: Column, data_type: DataType) -> Column:
    """NULL for the least INT and LONG, which have no negative."""
    if data_type == t.DOUBLE or isinstance(data_type, DecimalOf):
        return F.negative(operand)
    return F.try_subtract(F.lit(0).cast(to_spark(data_type)), operand)


def plain_zero(operand: Column, data_type: DataType) -> Column:
    """-0.0 as 0.0: the hash set of a long IN distinguishes them, though `=` does not."""
    return operand + F.lit(0.0) if data_type == t.DOUBLE else operand


def nonzero(divisor: Column) -> Column:
    """NULL for zero."""
    return F.when(divisor != 0, divisor)
