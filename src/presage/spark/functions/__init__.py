"""Calls of allowed functions in, Catalyst columns out.

Most are Spark's own under the same name. The others are written so that they give the same under ANSI rules and
without, in every time zone, and NULL where Spark would fail. Patterns, formats and units are constants that were
checked before, so they cannot fail on a row. What takes a regular expression is computed by RE2, not by Catalyst.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.analyze.constant_arguments import check_constants
from presage.analyze.function_table import BY_NAME
from presage.analyze.functions import constants_of
from presage.plan.expr import FunctionCall
from presage.spark.evaluated import evaluated
from presage.spark.functions.call import Builder, Call
from presage.spark.functions.collections import COLLECTIONS
from presage.spark.functions.numbers import NUMBERS
from presage.spark.functions.text import TEXT
from presage.spark.functions.time import TIME

BUILDERS: dict[str, Builder] = {**NUMBERS, **TEXT, **TIME, **COLLECTIONS}


def compile_function(call: FunctionCall, args: tuple[Column, ...]) -> Column:
    """The column of a call whose arguments are compiled. Its name is one of the allow-list: binding made sure of it."""
    constants = constants_of(call.args)
    check_constants(call.name, len(args), constants, call.span)
    if "regex" in BY_NAME[call.name].constants.values():
        return evaluated(call, args)
    builder = BUILDERS.get(call.name)
    if builder is None:
        return F.call_function(call.name, *args)
    return builder(Call(call.name, args, tuple(a.type for a in call.args), call.type, constants))
