"""Kernels of functions with a regular expression, by RE2, in time linear in the texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.cancellation import check_cancelled
from presage.columnar.distinct import per_distinct
from presage.columnar.vectors import Cells, Vector, flat_from_arrow, from_arrow
from presage.errors import PresageError, error
from presage.functions.columnar.call import Builder, Kernel, constant_of, types_of
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.plan.expr import FunctionCall
from presage.plan.regex import read_regex, read_replacement
from presage.plan.regex_classes import RegexError
from presage.plan.regex_tree import Regex

# Texts per call of Arrow, which cannot be interrupted.
TEXTS_PER_CALL = 1 << 14
# The longest text for all matches of a pattern that may be empty or ends with $; beyond it the result is NULL.
MOST_CHARACTERS = 1 << 16
_BEFORE = "(?P<before>(?s:.*?))"
# Unicode noncharacters: those that occur in no text of a batch delimit matches.
_MARKS = [chr(code) for code in range(0xFDD0, 0xFDF0)]
_GROUPS_OF_A_REWRITE = 9


class Match(NamedTuple):
    before: str  # the text since the previous match
    whole: str
    groups: tuple[str, ...]  # the wanted groups; empty text for one that did not match


Found = tuple[list[Match], str]  # the matches of a text, and the text after the last


class Matcher:
    """Finds a pattern in texts. `groups`: the numbers of the wanted groups, 0 for the whole match."""

    def __init__(self, regex: Regex, groups: Sequence[int] = ()) -> None:
        self._regex = regex
        self._kept = tuple(sorted({g for g in groups if g}))
        self._wanted = [self._kept.index(g) if g else -1 for g in groups]
        options = regex.pattern(*self._kept)
        self._first = rf"\A{_BEFORE}(?:{options})"
        # The next search starts one character earlier: a word boundary looks at it.
        self._next = rf"\A(?s:.){_BEFORE}(?:{regex.pattern(*self._kept, first=False)})"
        self.anywhere = options

    def first(self, texts: pa.Array) -> Iterator[Match | None]:
        """The first match of each text."""
        for piece in _pieces(texts):
            yield from map(self._match, pc.extract_regex(piece, self._first).to_pylist())

    def all(self, texts: pa.Array) -> Iterator[Found | None]:
        """All matches of each text; None for a text that is too long."""
        for piece in _pieces(texts):
            marks = [mark for mark in _MARKS if not pc.any(pc.match_substring(piece, mark)).as_py()][:2]
            simple = not self._regex.nullable and not self._regex.at_end and len(self._kept) <= _GROUPS_OF_A_REWRITE
            yield from self._marked(piece, *marks) if simple and len(marks) == 2 else self._in_turn(piece.to_pylist())

    def _match(self, found: dict[str, str] | None) -> Match | None:
        if found is None:
            return None
        # One of the options matched, the others are empty.
        whole = "".join(text for name, text in found.items() if name.startswith("m"))
        return Match(found["before"], whole, self._of(whole, [found[f"g{i}"] for i in range(len(self._kept))]))

    def _of(self, whole: str, kept: Sequence[str]) -> tuple[str, ...]:
        return tuple(whole if i < 0 else kept[i] for i in self._wanted)

    def _marked(self, texts: pa.Array, around: str, between: str) -> Iterator[Found]:
        """Marks all matches in one replacement by RE2. Not for empty matches, in which RE2 and Java differ."""
        groups = "".join(f"{between}\\{i + 1}" for i in range(len(self._kept)))
        pattern, replacement = self._regex.plain(*self._kept), f"{around}\\0{groups}{around}"
        for text in pc.replace_substring_regex(texts, pattern, replacement).to_pylist():
            parts = text.split(around)
            found = [part.split(between) for part in parts[1::2]]
            yield (
                [Match(before, m[0], self._of(m[0], m[1:])) for before, m in zip(parts[::2], found, strict=False)],
                parts[-1],
            )

    def _in_turn(self, texts: list[str]) -> Iterator[Found | None]:
        """One match of every text per round: from the end of the last match, or one further if it was empty."""
        found: list[list[Match]] = [[] for _ in texts]
        ends = [0] * len(texts)
        active = [(i, 0) for i, text in enumerate(texts) if len(text) <= MOST_CHARACTERS]
        pattern = self._first
        while active:
            check_cancelled()
            rest = pa.array([texts[i][max(at - 1, 0) :] for i, at in active], pa.string())
            going_on = []
            for (i, at), match in zip(active, pc.extract_regex(rest, pattern).to_pylist(), strict=True):
                made = self._match(match)
                if made is not None:
                    start = at + len(made.before)
                    if self._regex.empty_at_end and not made.whole and texts[i][start - 1 :] == "\r\n":
                        going_on.append((i, start + 1))  # $ does not match between \r and \n
                        continue
                    found[i].append(made._replace(before=texts[i][ends[i] : start]))
                    ends[i] = start + len(made.whole)
                    after = ends[i] + (not made.whole)
                    if after <= len(texts[i]):
                        going_on.append((i, after))
            active, pattern = going_on, self._next
        for i, text in enumerate(texts):
            yield (found[i], text[ends[i] :]) if len(text) <= MOST_CHARACTERS else None


def _pieces(texts: pa.Array) -> Iterator[pa.Array]:
    for at in range(0, len(texts), TEXTS_PER_CALL):
        check_cancelled()
        yield texts.slice(at, TEXTS_PER_CALL)


def regex_of(call: FunctionCall) -> Regex:
    """The pattern of a call. Binding has checked it, but an older version may have accepted what is refused now."""
    pattern = str(constant_of(call, 1))
    try:
        return read_regex(pattern)
    except RegexError as problem:
        what, expected = f"argument 2 of {call.name}", f"a regular expression ({problem})"
        raise error("BAD_VALUE", call.span, what=what, found=f"'{pattern}'", expected=expected) from None


def _per_text(call: FunctionCall, function: Callable[[pa.Array], list[Any]]) -> Kernel:
    """The kernel of a function that is called with the distinct texts."""

    def run(x: Cells, *_: Vector) -> Vector:
        encoded = x.array.dictionary_encode()
        made = pa.array(function(encoded.dictionary), to_arrow(call.type))
        return from_arrow(made.take(encoded.indices), call.type)

    return run


def _like(call: FunctionCall) -> Kernel:
    pattern = Matcher(regex_of(call)).anywhere

    def run(x: Cells, *_: Vector) -> Vector:
        return flat_from_arrow(matches_anywhere(x.array, pattern))

    return run


def matches_anywhere(texts: pa.Array, pattern: str) -> pa.Array:
    """Whether a part of each text matches a pattern of RE2."""
    found = [pc.match_substring_regex(piece, pattern) for piece in _pieces(texts)]
    return pa.concat_arrays(found) if found else pa.array([], pa.bool_())


def _of_first(function: Callable[[Match | None], Any], group: int | None = None) -> Builder:
    """A function of the first match. `group`: the argument with the number of the wanted group."""

    def build(call: FunctionCall) -> Kernel:
        matcher = Matcher(regex_of(call), () if group is None else (constant_of(call, group, 1),))
        return _per_text(call, lambda texts: [function(match) for match in matcher.first(texts)])

    return build


def _of_all(function: Callable[[list[Match], str], Any], group: int | None = None) -> Builder:
    def build(call: FunctionCall) -> Kernel:
        matcher = Matcher(regex_of(call), () if group is None else (constant_of(call, group, 1),))
        return _per_text(call, lambda texts: [found and function(*found) for found in matcher.all(texts)])

    return build


def _replace(call: FunctionCall) -> Kernel:
    regex = regex_of(call)
    parts = read_replacement(str(constant_of(call, 2)), regex)
    places = [part for part in parts if isinstance(part, int)]
    matcher = Matcher(regex, places)

    def replaced(matches: list[Match], rest: str) -> str:
        made = []
        for match in matches:
            groups = iter(match.groups)
            made += [match.before, *(next(groups) if isinstance(part, int) else part for part in parts)]
        return "".join([*made, rest])

    return _per_text(call, lambda texts: [found and replaced(*found) for found in matcher.all(texts)])


def _split(call: FunctionCall) -> Kernel:
    pattern, limit = constant_of(call, 1), constant_of(call, 2, -1)
    matcher = Matcher(regex_of(call))

    def cut(text: str, found: Found | None, limit: int) -> list[str] | None:
        if text and not pattern:
            count = limit if 0 < limit <= len(text) else len(text)
            return [*text[: count - 1], text[count - 1 :]]
        return None if found is None else _parts(text, found[0], limit)

    if isinstance(limit, int):

        def parts_of(texts: pa.Array) -> list[Any]:
            return [cut(x, found, limit) for x, found in zip(texts.to_pylist(), matcher.all(texts), strict=True)]

        return _per_text(call, parts_of)
    one = lambda text, limit, *_: cut(text, next(matcher.all(pa.array([text], pa.string()))), limit)  # noqa: E731
    by_limit = per_distinct(one, (t.STRING, types_of(call)[2]), call.type)
    return lambda x, _, limits: by_limit(x, limits)


def _parts(text: str, matches: list[Match], limit: int) -> list[str]:
    """As String.split: an empty match at the start makes no empty part."""
    parts, index, at = list[str](), 0, 0
    for match in matches:
        start = at + len(match.before)
        at = start + len(match.whole)
        if limit > 0 and len(parts) == limit - 1:
            break
        if index == 0 and at == 0:
            continue
        parts.append(text[index:start])
        index = at
    return [*parts, text[index:]]


def _place(match: Match | None) -> int:
    """Counted from 1 in UTF-16 units, as in Spark."""
    return 0 if match is None else len(match.before.encode("utf-16-le")) // 2 + 1


def _deferred(build: Builder) -> Builder:
    """A pattern that only an older version accepted is an error when the statement runs, not when it is compiled."""

    def guarded(call: FunctionCall) -> Kernel | None:
        try:
            return build(call)
        except PresageError as problem:
            return partial(_raised, problem)

    return guarded


def _raised(problem: PresageError, *_: Vector) -> Vector:
    raise problem


_PATTERNS: dict[str, Builder] = {
    "regexp_count": _of_all(lambda matches, rest: len(matches)),
    "regexp_extract": _of_first(lambda match: "" if match is None else match.groups[0], group=2),
    "regexp_extract_all": _of_all(lambda matches, rest: [match.groups[0] for match in matches], group=2),
    "regexp_instr": _of_first(_place),
    "regexp_like": _like,
    "regexp_replace": _replace,
    "regexp_substr": _of_first(lambda match: None if match is None else match.whole or None),
    "split": _split,
}
PATTERNS = {name: _deferred(build) for name, build in _PATTERNS.items()}
