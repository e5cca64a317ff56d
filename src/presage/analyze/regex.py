"""Regular expressions of Java (which Spark runs) in, what is wrong with them out, without a JVM.

Java's and Python's syntax agree on nearly all that people write. What only Java has is translated before Python's
compiler judges; only whether the pattern is well formed matters here, never what it matches.
"""

from __future__ import annotations

import re
import warnings

MAX_LENGTH = 2_000

_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
# Escapes that Python does not know, in and outside of classes: each becomes a plain letter.
_JAVA_ESCAPE = re.compile(r"\\(?:[pP](?:\{\w+(?:=\w+)?\}|[A-Z])|x\{[0-9A-Fa-f]+\}|[zhHGRXe]|c.)")
_NAMED = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_BACK = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>")
_REFERENCE = re.compile(r"\\(.)|\$(?:\{(\w*)\}|(\d))?", re.DOTALL)


def find_problem(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    if len(pattern) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    if "(?P" in pattern:
        return "a group is named (?<name>…)"
    compiled = _compile(pattern)
    return compiled if isinstance(compiled, str) else None


def count_groups(pattern: str) -> int:
    compiled = _compile(pattern)
    return 0 if isinstance(compiled, str) else compiled.groups


def find_replacement_problem(replacement: str, pattern: str) -> str | None:
    """What is wrong with a replacement: $1 and ${name} stand for groups, a backslash takes the next character as is."""
    compiled = _compile(pattern)
    if isinstance(compiled, str):
        return None
    if re.search(r"(?<!\\)(?:\\\\)*\\$", replacement):
        return "a backslash stands at its end; write two"
    for match in _REFERENCE.finditer(replacement):
        escaped, name, digit = match.groups()
        if escaped is not None:
            continue
        if name is None and digit is None:
            return "'$' stands alone; write \\$"
        if name is not None and name not in compiled.groupindex:
            return f"the pattern has no group '{name}'"
        if digit is not None and int(digit) > compiled.groups:
            return f"the pattern has no group {digit}"
    return None


def _compile(pattern: str) -> re.Pattern[str] | str:
    """The pattern as Python sees it, or the reason why it is none."""
    text = _QUOTED.sub(lambda m: re.escape(m[1]), pattern)
    text = _JAVA_ESCAPE.sub("a", text)
    text = _NAMED.sub(r"(?P<\1>", text)
    text = _BACK.sub(r"(?P=\1)", text)
    try:
        with warnings.catch_warnings():
            # Python warns of nested classes and set operations, which Java has.
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(text)
    except (re.error, OverflowError, RecursionError) as problem:
        return str(problem)
