"""Functions of texts that differ from Spark's function of the same name."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.execution.spark.arithmetic import nonzero
from presage.functions.catalyst.call import MAX_REPEAT, Builder, Call


def bounded(count: Column) -> Column:
    return F.when(count <= MAX_REPEAT, count)


def _bytes(call: Call) -> tuple[Column, ...]:
    """The text's bytes in UTF-8, by an explicit cast: in ANSI mode Spark does not always cast implicitly."""
    return (call.args[0].cast(s.BinaryType()), *call.args[1:])


def _repeat(call: Call) -> Column:
    text, count = call.args
    # Bounds the size of the result, not only the count.
    fits = F.length(text).cast(s.LongType()) * F.greatest(count, F.lit(0)).cast(s.LongType()) <= MAX_REPEAT
    return F.call_function("repeat", text, F.when(fits, count))


def _pad(call: Call) -> Column:
    text, width, *fill = call.args
    return F.call_function(call.name, text, bounded(width), *(fill or [F.lit(" ")]))


def _base64(call: Call) -> Column:
    # A session setting may break long results into lines.
    return F.translate(F.base64(*_bytes(call)), "\r\n", "")


def _readable(binary: Column) -> Column:
    """Bytes as text; NULL if they are not UTF-8."""
    return F.try_validate_utf8(binary.cast(s.StringType()))


def _elt(call: Call) -> Column:
    place, *texts = call.args
    return F.get(F.array(*texts), F.try_subtract(place, F.lit(1)))


def _parse_url(call: Call) -> Column:
    address, part, *key = call.args
    # Spark inserts the key into a regular expression: quoted, it cannot fail, and matches only itself.
    quoted = [F.concat(F.lit(r"\Q"), F.replace(k, F.lit(r"\E"), F.lit("")), F.lit(r"\E")) for k in key]
    return F.try_parse_url(address, part, *quoted)


TEXT: dict[str, Builder] = {
    "base64": _base64,
    "crc32": lambda c: F.crc32(*_bytes(c)),
    "elt": _elt,
    "lpad": _pad,
    "md5": lambda c: F.md5(*_bytes(c)),
    "parse_url": _parse_url,
    "repeat": _repeat,
    "rpad": _pad,
    "sha1": lambda c: F.sha1(*_bytes(c)),
    "sha2": lambda c: F.call_function("sha2", *_bytes(c)),
    "space": lambda c: F.call_function("space", bounded(c.args[0])),
    "split_part": lambda c: F.split_part(c.args[0], c.args[1], nonzero(c.args[2])),
    "unbase64": lambda c: _readable(F.try_to_binary(c.args[0], F.lit("base64"))),
    "unhex": lambda c: _readable(F.unhex(c.args[0])),
    "url_decode": lambda c: F.try_url_decode(c.args[0]),
}
