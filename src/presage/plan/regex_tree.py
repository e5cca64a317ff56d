"""The syntax tree of a regular expression, printed for RE2."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.plan.regex_classes import Chars, RegexError, union

# `$` also matches before one line terminator at the end of the text.
LAST_LINE_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"
MATCHES_NOTHING = r"[^\x00-\x{10FFFF}]"


@dataclass(frozen=True)
class Node:
    """A part of a pattern. `nullable`: it may match the empty text; `ends`: characters that it may end with."""

    nullable: bool
    ends: Chars

    def emit(self, keep: dict[int, str], first: bool) -> str:
        """The text for RE2. `keep`: names of the captured groups, by number; `first`: this is the start of the text."""
        raise NotImplementedError


@dataclass(frozen=True)
class CharClass(Node):
    text: str = ""

    def emit(self, keep: dict[int, str], first: bool) -> str:
        return self.text


@dataclass(frozen=True)
class TextStart(Node):
    def emit(self, keep: dict[int, str], first: bool) -> str:
        return r"\A" if first else MATCHES_NOTHING


@dataclass(frozen=True)
class Group(Node):
    inner: Node = field(kw_only=True)
    number: int = 0  # 0: it captures nothing

    def emit(self, keep: dict[int, str], first: bool) -> str:
        name = keep.get(self.number)
        return f"({f'?P<{name}>' if name else '?:'}{self.inner.emit(keep, first)})"


@dataclass(frozen=True)
class Repeat(Node):
    inner: Node = field(kw_only=True)
    times: str = ""

    def emit(self, keep: dict[int, str], first: bool) -> str:
        return self.inner.emit(keep, first) + self.times


@dataclass(frozen=True)
class Sequence(Node):
    parts: tuple[Node, ...] = ()
    at_end: bool = False  # `$` follows

    def emit(self, keep: dict[int, str], first: bool) -> str:
        return "".join(part.emit(keep, first) for part in self.parts)


@dataclass(frozen=True)
class Either(Node):
    options: tuple[Sequence, ...] = ()

    def emit(self, keep: dict[int, str], first: bool) -> str:
        return "|".join(option.emit(keep, first) for option in self.options)


@dataclass(frozen=True)
class Regex:
    """A pattern that RE2 can match as Java does."""

    tree: Either
    groups: int
    names: dict[str, int]
    bounded: bool  # has a word boundary or `^`, which look at the previous character

    @property
    def nullable(self) -> bool:
        return self.tree.nullable

    @property
    def at_end(self) -> bool:
        """Whether `$` ends an option: the line terminator after it is not part of the match."""
        return any(option.at_end for option in self.tree.options)

    @property
    def empty_at_end(self) -> bool:
        """Whether `$` may be all that matches."""
        return any(option.at_end and option.nullable for option in self.tree.options)

    def pattern(self, *groups: int, first: bool = True) -> str:
        """For RE2: the match is the one of m0, m1 … that took part, the wanted groups are g0, g1, …"""
        keep = {number: f"g{i}" for i, number in enumerate(groups) if number}
        options = self.tree.options
        return "|".join(
            f"(?P<m{i}>{option.emit(keep, first)}){LAST_LINE_END if option.at_end else ''}"
            for i, option in enumerate(options)
        )

    def plain(self, *groups: int) -> str:
        """For replacing all matches: without names, the wanted groups are numbered from 1. Not for `$`."""
        keep = {number: f"g{i}" for i, number in enumerate(groups) if number}
        return self.tree.emit(keep, True)


def single(code: int) -> Chars:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise RegexError("a number that is no character")
    return ((code, code),)


def dot(all_of_them: bool) -> str:
    return "(?s:.)" if all_of_them else r"[^\n\r\x{85}\x{2028}\x{2029}]"


def one_of(chars: Chars) -> Node:
    if not chars:
        return CharClass(False, (), MATCHES_NOTHING)
    if len(chars) == 1 and chars[0][0] == chars[0][1]:
        return CharClass(False, chars, _shown(chars[0][0]))
    text = "".join(_shown(low) if low == high else f"{_shown(low)}-{_shown(high)}" for low, high in chars)
    return CharClass(False, chars, f"[{text}]")


def literal(character: str) -> str:
    return _shown(ord(character))


def _shown(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\x{{{code:X}}}"


def ends_of(parts: list[Node]) -> Chars:
    ends: Chars = ()
    for part in reversed(parts):
        ends = union(ends, part.ends)
        if not part.nullable:
            break
    return ends


def holds(chars: Chars, code: int) -> bool:
    return any(low <= code <= high for low, high in chars)
