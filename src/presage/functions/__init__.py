"""Scalar functions and aggregates of the language, and the registration of extensions."""

from __future__ import annotations

from presage.functions.aggregates import AggregateFunction, ConstantArgument, register_aggregate
from presage.functions.scalars import register_function

__all__ = ["AggregateFunction", "ConstantArgument", "register_aggregate", "register_function"]
