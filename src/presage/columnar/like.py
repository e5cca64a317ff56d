"""LIKE on text vectors. `%` and `_` are wildcards; a backslash before another character is literal."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.order import compare
from presage.columnar.vectors import Cells, Flat, Vector, flat_from_arrow
from presage.functions.columnar.patterns import matches_anywhere
from presage.model import types as t
from presage.plan import expr as e
from presage.plan.regex_tree import literal

_PARTS = re.compile(r"\\[%_\\]|.", re.DOTALL)
_WILD = {"%": "(?s:.*)", "_": "(?s:.)"}


def like(expr: e.Like) -> Callable[..., Vector]:
    if isinstance(expr.pattern, e.Constant) and isinstance(expr.pattern.value, str):
        plain = _plain(expr.pattern.value)
        if plain is not None:
            return plain
    return _by_pattern


def _by_pattern(texts: Cells, patterns: Cells) -> Vector:
    """Texts with the same pattern are matched together."""
    rows = max(len(texts), len(patterns)) if len(texts) and len(patterns) else 0
    array = texts.array if len(texts) == rows else pa.repeat(texts.array[0], rows)
    encoded = patterns.array.dictionary_encode()
    if len(encoded.dictionary) == 1 and not patterns.array.null_count:
        return flat_from_arrow(matches_anywhere(array, _regex(encoded.dictionary[0].as_py())))
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    codes = codes if len(codes) == rows else np.repeat(codes, rows)
    found, valid = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    for code, pattern in enumerate(encoded.dictionary.to_pylist()):
        own = np.flatnonzero(codes == code)
        made = matches_anywhere(array.take(pa.array(own)), _regex(pattern))
        found[own] = made.fill_null(False).to_numpy(zero_copy_only=False)
        valid[own] = made.is_valid().to_numpy(zero_copy_only=False)
    return Flat(found, valid)


@functools.lru_cache(maxsize=1024)
def _regex(pattern: str) -> str:
    """The pattern as a regular expression for RE2."""
    parts = _PARTS.findall(pattern)
    return rf"\A{''.join(_WILD.get(part) or literal(part[-1]) for part in parts)}\z"


def plain_form(pattern: str) -> tuple[bool, str, bool] | None:
    """Of 'abc', 'abc%', '%abc' and '%abc%': whether it starts with %, the text, whether it ends with %. Else None."""
    parts = _PARTS.findall(pattern)
    starts, ends = parts[:1] == ["%"], parts[-1:] == ["%"] and len(parts) > 1
    middle = parts[1 if starts else 0 : len(parts) - 1 if ends else len(parts)]
    return None if any(part in _WILD for part in middle) else (starts, "".join(part[-1] for part in middle), ends)


def _plain(pattern: str) -> Callable[..., Vector] | None:
    """The kernel of a plain form, by a function of Arrow."""
    form = plain_form(pattern)
    if form is None:
        return None
    starts, text, ends = form
    if not starts and not ends:
        equal = compare("=", t.STRING)
        return lambda a, b: equal(a, _unescaped(text))
    find = pc.match_substring if starts and ends else pc.ends_with if starts else pc.starts_with

    def run(texts: Cells, _: Vector) -> Vector:
        return flat_from_arrow(find(texts.array, text))

    return run


@functools.lru_cache(maxsize=1024)
def _unescaped(text: str) -> Cells:
    return Cells(pa.array([text]))
