"""Formats of times (`yyyy-MM-dd HH:mm`), and words for units of the calendar, as Spark's date functions take them.

The letters of a format are those of Spark's date_format that make sense for a time in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

# Letters, each with the greatest number of times that it may be repeated.
_PRINTED = dict(zip("yMLdDQqEaHhKkmsSVzXxZ", map(int, "444232241222222624333"), strict=True))
_PARSED = {letter: most for letter, most in _PRINTED.items() if letter not in "QqE"} | {"S": 9}
ZONE_LETTERS = "VzXxZ"
# Repetitions other than 1 to the greatest.
_ONLY = {"V": (2,), "y": (1, 2, 4)}

# Units that start at midnight; months and longer ones have no fixed length.
DATE_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    **{unit: unit for unit in ("quarter", "week")},
}
TIME_UNITS = {unit: unit for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond")} | {"dd": "day"}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {word: day[:2] for day in _DAYS for word in (day, day[:3], day[:2])}


@dataclass(frozen=True)
class Letters:
    """A field of a format: a letter, and how often it is repeated."""

    letter: str
    count: int


Part = str | Letters


def check_format(pattern: str) -> str | None:
    """What is wrong with a pattern that prints a time, or None."""
    return _problem(pattern, _PRINTED, "")


def check_parse_format(pattern: str) -> str | None:
    """What is wrong with a pattern that reads a time, or None. `[ ]` around a part make it optional there."""
    return _problem(pattern, _PARSED, "[]")


def parse_format(pattern: str) -> list[Part]:
    """Literal texts and fields of a well-formed pattern; text in single quotes is literal, two of them are a quote."""
    parts: list[Part] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        end = position + 1
        if character == "'":
            if pattern[end : end + 1] == "'":
                parts.append("'")
                position = end + 1
                continue
            while end < len(pattern) and (pattern[end] != "'" or pattern[end + 1 : end + 2] == "'"):
                end += 2 if pattern[end] == "'" else 1
            parts.append(pattern[position + 1 : end].replace("''", "'"))
            position = end + 1
        elif character.isascii() and character.isalpha():
            while end < len(pattern) and pattern[end] == character:
                end += 1
            parts.append(Letters(character, end - position))
            position = end
        else:
            parts.append(character)
            position = end
    return parts


def _problem(pattern: str, letters: dict[str, int], allowed: str) -> str | None:
    if pattern.count("'") % 2:
        return "a quote is not closed"
    quoted = False
    for character in pattern:
        quoted ^= character == "'"
        if not quoted and character in "{}#[]" and character not in allowed:
            return f"'{character}' has no meaning; put it in single quotes"
    for part in parse_format(pattern):
        if isinstance(part, Letters):
            most = letters.get(part.letter)
            if most is None:
                return f"the letter {part.letter} has no meaning"
            if part.count > most or part.count not in _ONLY.get(part.letter, range(1, most + 1)):
                return f"{part.letter * part.count} has no meaning"
    if "[" in allowed and _unbalanced(pattern):
        return "[ and ] do not match"
    return None


def _unbalanced(pattern: str) -> bool:
    depth, quoted = 0, False
    for character in pattern:
        quoted ^= character == "'"
        if not quoted:
            depth += (character == "[") - (character == "]")
            if depth < 0:
                return True
    return depth != 0
