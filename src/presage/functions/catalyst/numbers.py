"""Functions of numbers and of NULL that differ from Spark's function of the same name."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.execution.spark.arithmetic import compute, negate, nonzero
from presage.execution.spark.types import to_spark
from presage.functions.catalyst.call import Builder, Call
from presage.model import types as t
from presage.model.types import DecimalOf

MAX_DECIMALS = 100


def _abs(call: Call) -> Column:
    (x,) = call.args
    plain = call.result == t.DOUBLE or isinstance(call.result, DecimalOf)
    return F.abs(x) if plain else F.when(x < 0, negate(x, call.result)).otherwise(x)


def _whole(call: Call) -> Column:
    """ceil and floor. Beyond LONG, Spark fails in ANSI mode, and returns the nearest LONG without it; here NULL."""
    (x,) = call.args
    if call.types[0] == t.LONG:
        return x
    if isinstance(call.result, DecimalOf):
        # Beyond 38 digits Spark fails in ANSI mode; a DECIMAL without digits behind the point is its own.
        return x.cast(to_spark(call.result)) if call.types[0].scale == 0 else F.call_function(call.name, x)  # type: ignore[attr-defined]
    # NaN is greater than every number, so out of range too.
    return F.call_function(call.name, F.when((x >= F.lit(-(2.0**63))) & (x < F.lit(2.0**63)), x))


def _round(call: Call) -> Column:
    scale = call.number(1, 0)
    if isinstance(call.result, DecimalOf):
        return F.call_function(call.name, call.args[0], F.lit(scale)).try_cast(to_spark(call.result))
    if call.result == t.DOUBLE:
        return F.call_function(call.name, call.args[0], F.lit(scale))
    if scale >= 0:
        return call.args[0]
    if scale < -19:
        return F.when(call.args[0].isNotNull(), F.lit(0).cast(to_spark(call.result)))
    # Rounding up can overflow, which fails in ANSI mode: a decimal is wide enough.
    rounded = F.call_function(call.name, call.args[0].cast(s.DecimalType(20, 0)), F.lit(scale))
    return rounded.try_cast(to_spark(call.result))


def _div(call: Call) -> Column:
    x, y = call.args
    # Only the least LONG by -1 overflows; Spark has no try_ form of div.
    divisor = F.when((y != 0) & (y != -1), y)
    return F.when(y == -1, negate(x, t.LONG)).otherwise(F.call_function("div", x, divisor))


def _bit_get(call: Call) -> Column:
    x, place = call.args
    bit = F.call_function("bit_get", x, F.when((place >= 0) & (place < 64), place))
    return bit.cast(s.IntegerType())


def _format_number(call: Call) -> Column:
    x, decimals = call.args
    return F.call_function("format_number", x, F.when(decimals <= MAX_DECIMALS, decimals))


NUMBERS: dict[str, Builder] = {
    "abs": _abs,
    "bit_get": _bit_get,
    "bround": _round,
    "ceil": _whole,
    "div": _div,
    "equal_null": lambda c: c.args[0].eqNullSafe(c.args[1]),
    "floor": _whole,
    "format_number": _format_number,
    "if": lambda c: F.when(c.args[0], c.args[1]).otherwise(c.args[2]),
    "mod": lambda c: compute("%", c.args[0], c.args[1], c.result),
    "negative": lambda c: negate(c.args[0], c.result),
    "nullifzero": lambda c: nonzero(c.args[0]),
    "nvl2": lambda c: F.when(c.args[0].isNotNull(), c.args[1]).otherwise(c.args[2]),
    "pmod": lambda c: F.pmod(c.args[0], nonzero(c.args[1])),
    "positive": lambda c: c.args[0],
    "round": _round,
    "zeroifnull": lambda c: F.coalesce(c.args[0], F.lit(0).cast(to_spark(c.result))),
}
