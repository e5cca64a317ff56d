"""Texts and patterns of LIKE in, whether they match out. `%` and `_` are wild; a lone backslash stands for itself."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.distinct import per_distinct
from presage.columnar.order import compare
from presage.columnar.vectors import Cells, Vector, flat_from_arrow
from presage.model import types as t
from presage.plan import expr as e

_PARTS = re.compile(r"\\[%_\\]|.", re.DOTALL)
_WILD = {"%": ".*", "_": "."}


def like(expr: e.Like) -> Callable[..., Vector]:
    if isinstance(expr.pattern, e.Constant) and isinstance(expr.pattern.value, str):
        plain = _plain(expr.pattern.value)
        if plain is not None:
            return plain
    return per_distinct(_matches, (t.STRING, t.STRING), t.BOOLEAN)


def _matches(text: str, pattern: str) -> bool:
    return _regex(pattern).fullmatch(text) is not None


@functools.lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    parts = _PARTS.findall(pattern)
    return re.compile("".join(_WILD.get(p, re.escape(p[-1])) for p in parts), re.DOTALL)


def _plain(pattern: str) -> Callable[..., Vector] | None:
    """The kernel of 'abc', 'abc%', '%abc' and '%abc%', which Arrow has functions for."""
    parts = _PARTS.findall(pattern)
    starts, ends = parts[:1] == ["%"], parts[-1:] == ["%"] and len(parts) > 1
    middle = parts[1 if starts else 0 : len(parts) - 1 if ends else len(parts)]
    if any(part in _WILD for part in middle):
        return None
    text = "".join(part[-1] for part in middle)
    if not starts and not ends:
        equal = compare("=", t.STRING)
        return lambda a, b: equal(a, _unescaped(text))
    find = pc.match_substring if starts and ends else pc.ends_with if starts else pc.starts_with

    def run(texts: Vector, _: Vector) -> Vector:
        assert isinstance(texts, Cells)
        return flat_from_arrow(find(texts.array, text))

    return run


@functools.lru_cache(maxsize=1024)
def _unescaped(text: str) -> Cells:
    return Cells(pa.array([text]))
