"""Translation of regular expressions from the syntax of Java to that of RE2.

RE2 is linear in the text; Java's engine may take exponential time. Constructs with different meanings (`.`, `$`,
`\\s`, classes, case) are written out, those that RE2 lacks are refused. `tests/spark/test_regular_expressions.py`
compares the two engines on random patterns.
"""

from __future__ import annotations

from functools import lru_cache

from presage.plan.regex_classes import RegexError
from presage.plan.regex_parser import Parser
from presage.plan.regex_tree import Regex

MAX_LENGTH = 2_000


@lru_cache(maxsize=4096)
def read_regex(pattern: str) -> Regex:
    """Raises a RegexError with the reason where a pattern cannot be translated."""
    if len(pattern) > MAX_LENGTH:
        raise RegexError(f"it is longer than {MAX_LENGTH} characters")
    if any(0xD800 <= ord(c) <= 0xDFFF for c in pattern):
        raise RegexError("it holds half of a character")
    return Parser(_unquoted(pattern)).parse()


def find_problem(pattern: str) -> str | None:
    """Why a pattern is refused, or None."""
    try:
        regex = read_regex(pattern)
    except RegexError as problem:
        return str(problem)
    import pyarrow as pa  # loaded on demand: most statements have no pattern
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), f"(?s:.*?)(?:{regex.pattern(*range(regex.groups + 1))})")
    except pa.ArrowInvalid:
        return "it is too large: its repeats multiply"
    return None


def count_groups(pattern: str) -> int:
    try:
        return read_regex(pattern).groups
    except RegexError:
        return 0


def find_replacement_problem(replacement: str, pattern: str) -> str | None:
    """What is wrong with a replacement for a valid pattern; None if nothing."""
    try:
        read_replacement(replacement, read_regex(pattern))
    except RegexError as problem:
        return None if find_problem(pattern) else str(problem)
    return None


def _unquoted(pattern: str) -> str:
    """\\Q…\\E written out."""
    before, mark, rest = pattern.partition(r"\Q")
    if not mark:
        return pattern
    if (len(before) - len(before.rstrip("\\"))) % 2:
        return before + mark + _unquoted(rest)
    quoted, _, after = rest.partition(r"\E")
    return before + "".join(c if c.isalnum() or ord(c) > 127 else f"\\{c}" for c in quoted) + _unquoted(after)


def read_replacement(text: str, regex: Regex) -> list[str | int]:
    """The parts of a replacement: texts, and group numbers for $1 and ${name}. A backslash escapes a character."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if at + 1 == len(text):
                raise RegexError("it ends with a single backslash; write two")
            parts.append(text[at + 1])
            at += 2
        elif text[at] != "$":
            parts.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "{":
            name, closed, _ = text[at + 2 :].partition("}")
            if not closed or name not in regex.names:
                raise RegexError(f"the pattern has no group '{name}'")
            parts.append(regex.names[name])
            at += len(name) + 3
        else:
            end = at + 1
            # The longest number that is a group.
            while text[end : end + 1] in tuple("0123456789") and (
                end == at + 1 or int(text[at + 1 : end + 1]) <= regex.groups
            ):
                end += 1
            if end == at + 1:
                raise RegexError("'$' refers to no group; write \\$")
            if int(text[at + 1 : end]) > regex.groups:
                raise RegexError(f"the pattern has no group {text[at + 1 : end]}")
            parts.append(int(text[at + 1 : end]))
            at = end
    return parts
