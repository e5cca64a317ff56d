"""Scalar functions as Catalyst columns.

Most are Spark's own functions of the same name. The others are adapted: same result with and without ANSI mode and in
every time zone, NULL where Spark would fail. Patterns, formats and units are constants, checked before, so that no row
fails. Regular expressions are computed by RE2 in a UDF, not by Catalyst.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.execution.spark.arithmetic import rounds_sign
from presage.execution.spark.evaluator_udf import evaluated
from presage.functions.catalyst.call import Builder, Call
from presage.functions.catalyst.collections import COLLECTIONS
from presage.functions.catalyst.numbers import NUMBERS
from presage.functions.catalyst.text import TEXT
from presage.functions.catalyst.time import TIME
from presage.functions.constant_arguments import check_constants
from presage.functions.resolve import constants_of
from presage.functions.scalars import BY_NAME
from presage.plan.expr import FunctionCall

BUILDERS: dict[str, Builder] = {**NUMBERS, **TEXT, **TIME, **COLLECTIONS}


def compile_function(call: FunctionCall, args: tuple[Column, ...]) -> Column:
    """The column of a call with compiled arguments. Binding has checked the name against the allow-list."""
    constants = constants_of(call.args)
    check_constants(call.name, len(args), constants, call.span)
    entry = BY_NAME[call.name]
    builder = BUILDERS.get(call.name) or entry.catalyst
    if call.name in ("abs", "negative") and rounds_sign(call.type):
        return evaluated(call, args)
    if "regex" in entry.constants.values() or (builder is None and entry.columnar is not None):
        return evaluated(call, args)
    if builder is None:
        return F.call_function(call.name, *args)
    made: Column = builder(Call(call.name, args, tuple(a.type for a in call.args), call.type, constants))
    return made
