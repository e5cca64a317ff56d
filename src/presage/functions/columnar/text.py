"""Kernels of text functions. Characters are code points, as in Spark."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.arithmetic import concatenated
from presage.columnar.cancellation import check_cancelled
from presage.columnar.distinct import per_distinct
from presage.columnar.logic import first_valid, pick
from presage.columnar.vectors import Cells, Flat, Vector, flat_from_arrow
from presage.functions.columnar.call import MAX_REPEAT, Builder, Kernel, by_value, constant_of, types_of
from presage.model import types as t
from presage.plan.expr import FunctionCall

_MOST = 2**31 - 1
_EMPTY = Cells(pa.array([""]))


def _arrow(function: Callable[[pa.Array], pa.Array]) -> Builder:
    """A function of Arrow over the texts, whose result is INT or a text."""

    def build(call: FunctionCall) -> Kernel:
        def run(x: Cells) -> Vector:
            found = function(x.array)
            return Cells(found) if call.type == t.STRING else flat_from_arrow(found)

        return run

    return build


def _cased(ascii_only: Callable[[pa.Array], pa.Array], function: Callable[[str], str]) -> Builder:
    """Python's case mapping equals Spark's, except for letters of later versions of Unicode."""
    slow = per_distinct(function, (t.STRING,), t.STRING)

    def run(x: Cells) -> Vector:
        return Cells(ascii_only(x.array)) if pc.all(pc.string_is_ascii(x.array)).as_py() is not False else slow(x)

    return lambda call: run


def _test(arrow: Callable[..., pa.Array], function: Callable[[str, str], bool]) -> Builder:
    def build(call: FunctionCall) -> Kernel:
        part = constant_of(call, 1)
        if not isinstance(part, str):
            return per_distinct(function, types_of(call), t.BOOLEAN)

        def run(x: Cells, _: Vector) -> Vector:
            return flat_from_arrow(arrow(x.array, part))

        return run

    return build


def _concat_ws(call: FunctionCall) -> Kernel | None:
    """For a constant separator: prefixed to each text that is not NULL; the first separator is cut off."""
    separator = constant_of(call, 0)
    if not isinstance(separator, str) or any(a.type != t.STRING for a in call.args):
        return None
    present = first_valid(t.STRING)

    def run(between: Vector, *texts: Vector) -> Vector:
        # Arrow's null_handling="skip" loses rows in which all texts are NULL (seen with version 26).
        joined = concatenated(*[present(concatenated(between, text), _EMPTY) for text in texts])
        return Cells(pc.utf8_slice_codeunits(joined.array, len(separator)))

    return run


def substring_sql(text: str, place: int, length: int = _MOST) -> str:
    """From a place on, counted from 1, or from the end if negative."""
    start = place - 1 if place > 0 else len(text) + place if place < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _substring(call: FunctionCall) -> Kernel:
    start, length = constant_of(call, 1), constant_of(call, 2, _MOST)
    if not (isinstance(start, int) and isinstance(length, int) and start > 0 and length >= 0):
        return per_distinct(substring_sql, types_of(call), t.STRING)
    stop = min(start - 1 + length, _MOST)

    def run(x: Cells, *_: Vector) -> Vector:
        return Cells(pc.utf8_slice_codeunits(x.array, start - 1, stop))

    return run


def _locate(call: FunctionCall) -> Kernel | None:
    if len(call.args) == 3 and not isinstance(constant_of(call, 2), int):
        return None  # a NULL place gives 0 in Spark, not NULL
    return per_distinct(_found, types_of(call), t.INT)


def _found(part: str, text: str, place: int = 1) -> int:
    if place <= 0:
        return 0
    return text.find(part, place - 1) + 1 if part else 1


def _pad(left: bool) -> Builder:
    def padded(text: str, width: int, fill: str = " ") -> str | None:
        if width > MAX_REPEAT:
            return None
        missing = width - len(text)
        if missing <= 0 or not fill:
            return text[: max(width, 0)]
        filling = (fill * (missing // len(fill) + 1))[:missing]
        return filling + text if left else text + filling

    return by_value(padded)


def _repeat(text: str, count: int) -> str | None:
    return text * count if len(text) * max(count, 0) <= MAX_REPEAT else None


def _elt(call: FunctionCall) -> Kernel:
    def run(place: Flat, *texts: Vector) -> Vector:
        inside = (place.values >= 1) & (place.values <= len(texts))
        if place.valid is not None:
            inside = inside & place.valid
        which = np.where(inside, place.values.astype(np.int64) - 1, -1)
        length = max(len(which), *(len(text) for text in texts)) if min(map(len, (place, *texts))) else 0
        return pick(list(texts), np.broadcast_to(which, length), t.STRING)

    return run


def _split_part(text: str, delimiter: str, place: int) -> str | None:
    if place == 0:
        return None
    parts = text.split(delimiter) if delimiter else [text]
    index = place - 1 if place > 0 else len(parts) + place
    return parts[index] if 0 <= index < len(parts) else ""


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """Occurrences may overlap."""
    if not delimiter or count == 0:
        return ""
    place = -1 if count > 0 else len(text) - len(delimiter) + 1
    for _ in range(min(abs(count), len(text) + 1)):
        place = text.find(delimiter, place + 1) if count > 0 else _before(text, delimiter, place)
        if place < 0:
            return text
    return text[:place] if count > 0 else text[place + len(delimiter) :]


def _before(text: str, delimiter: str, place: int) -> int:
    """The last occurrence that starts before a place."""
    return text.rfind(delimiter, 0, place - 1 + len(delimiter)) if place > 0 else -1


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for i, character in enumerate(old):
        table.setdefault(ord(character), new[i] if i < len(new) else None)
    return text.translate(table)


def _trimmed(method: Callable[[str, str], str]) -> Builder:
    return by_value(lambda text, characters=" ": method(text, characters))


def _find_in_set(text: str, listed: str) -> int:
    return 0 if "," in text or text not in listed.split(",") else listed.split(",").index(text) + 1


def _sha2(call: FunctionCall) -> Kernel | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(constant_of(call, 1))
    return by_value(lambda text, _: hashlib.new(str(name), text.encode()).hexdigest())(call) if name else None


def _hex(value: Any) -> str:
    return value.encode().hex().upper() if isinstance(value, str) else f"{value & (2**64 - 1):X}"


def _chr(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


def _levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        check_cancelled()
        above, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


TEXT: dict[str, Builder] = {
    "ascii": by_value(lambda text: ord(text[0]) if text else 0),
    "base64": by_value(lambda text: base64.b64encode(text.encode()).decode()),
    "bit_length": by_value(lambda text: 8 * len(text.encode())),
    "btrim": _trimmed(str.strip),
    "chr": by_value(_chr),
    "concat_ws": _concat_ws,
    "contains": _test(pc.match_substring, lambda text, part: part in text),
    "crc32": by_value(lambda text: zlib.crc32(text.encode())),
    "elt": _elt,
    "endswith": _test(pc.ends_with, str.endswith),
    "find_in_set": by_value(_find_in_set),
    "hex": by_value(_hex),
    "instr": by_value(lambda text, part: _found(part, text)),
    "left": by_value(lambda text, count: text[: max(count, 0)]),
    "length": _arrow(pc.utf8_length),
    "levenshtein": by_value(_levenshtein),
    "locate": _locate,
    "lower": _cased(pc.ascii_lower, str.lower),
    "lpad": _pad(True),
    "ltrim": _arrow(lambda x: pc.utf8_ltrim(x, " ")),
    "md5": by_value(lambda text: hashlib.md5(text.encode()).hexdigest()),
    "octet_length": _arrow(pc.binary_length),
    "repeat": by_value(_repeat),
    "replace": by_value(lambda text, old, new="": text.replace(old, new) if old else text),
    "right": by_value(lambda text, count: text[max(len(text) - count, 0) :] if count > 0 else ""),
    "rpad": _pad(False),
    "rtrim": _arrow(lambda x: pc.utf8_rtrim(x, " ")),
    "sha1": by_value(lambda text: hashlib.sha1(text.encode()).hexdigest()),
    "sha2": _sha2,
    "space": by_value(lambda count: " " * count if count <= MAX_REPEAT else None),
    "split_part": by_value(_split_part),
    "startswith": _test(pc.starts_with, str.startswith),
    "substring": _substring,
    "substring_index": by_value(_substring_index),
    "translate": by_value(_translate),
    "trim": _arrow(lambda x: pc.utf8_trim(x, " ")),
    "upper": _cased(pc.ascii_upper, str.upper),
}
