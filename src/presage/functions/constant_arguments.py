"""Checks of arguments that must be constants (patterns, units, formats), before any job starts."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from presage.errors import PresageError, error
from presage.functions.scalars import BY_NAME
from presage.model.text import Span
from presage.plan.regex import count_groups, find_problem, find_replacement_problem
from presage.plan.time_format import DATE_UNITS, TIME_UNITS, WEEKDAYS, check_format, check_parse_format

SHA2_BITS = (0, 224, 256, 384, 512)
MAX_SCALE = 300

Constants = Mapping[int, object]
# Of a function's name, the place of an argument, and the constants: what is expected instead, or None.
Check = Callable[[str, int, Constants], str | None]


def check_constants(name: str, count: int, constants: Constants, span: Span | None) -> None:
    """Raise for an argument that must be a constant and is not, or is a bad one. `constants`: values of the constant
    arguments, by place; `count`: the number of arguments."""
    entry = BY_NAME[name]
    for index, kind in entry.constants.items():
        if index >= count:
            continue
        if index not in constants or constants[index] is None:
            raise _bad(name, index, "not a constant", _KINDS[kind][0], span)
        problem = _KINDS[kind][1](name, index, constants)
        if problem:
            _refuse(_bad(name, index, _shown(constants[index]), problem, span), kind)
    # The default group must exist as well.
    if entry.constants.get(2) == "group" and count == 2 and count_groups(str(constants[1])) == 0:
        expected = "a pattern with a group in parentheses, or name group 0"
        _refuse(_bad(name, 1, _shown(constants[1]), expected, span), "group")


@contextmanager
def patterns_of_older_homes() -> Iterator[list[PresageError]]:
    """Collects, instead of raising, errors of regular expressions that an older version accepted: the statement can
    then be bound, and set aside."""
    refused: list[PresageError] = []
    before = _COLLECTED.set(refused)
    try:
        yield refused
    finally:
        _COLLECTED.reset(before)


_COLLECTED: ContextVar[list[PresageError] | None] = ContextVar("refused patterns", default=None)


def _refuse(problem: PresageError, kind: str) -> None:
    collected = _COLLECTED.get()
    if collected is None or kind not in ("regex", "group", "replacement"):
        raise problem
    collected.append(problem)


def _bad(name: str, index: int, found: str, expected: str, span: Span | None) -> PresageError:
    return error("BAD_VALUE", span, what=f"argument {index + 1} of {name}", found=found, expected=expected)


def _shown(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _problem(what: str, problem: str | None) -> str | None:
    return f"{what} ({problem})" if problem else None


def _group(_: str, index: int, constants: Constants) -> str | None:
    most = count_groups(str(constants[1]))
    return None if _whole(constants[index], 0, most) else f"0 to {most}, the groups of the pattern"


def _unit(name: str, index: int, constants: Constants) -> str | None:
    units = DATE_UNITS if name == "trunc" else {**DATE_UNITS, **TIME_UNITS}
    return None if str(constants[index]).lower() in units else f"one of {', '.join(sorted(set(units.values())))}"


def _zone(_: str, index: int, constants: Constants) -> str | None:
    name = str(constants[index])
    if name == "UTC" or ("/" in name and name in zoneinfo.available_timezones()):
        return None
    return "a time zone as 'Europe/Berlin', or 'UTC'"


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _of_value(fits: Callable[[object], bool], otherwise: str) -> Check:
    return lambda _, index, constants: None if fits(constants[index]) else otherwise


_FORMAT = "a pattern as 'yyyy-MM-dd HH:mm:ss'"
# By kind of argument: what is expected where it is not a constant, and the check of a constant.
_KINDS: dict[str, tuple[str, Check]] = {
    "regex": (
        "a constant regular expression",
        lambda _, index, constants: _problem("a regular expression", find_problem(str(constants[index]))),
    ),
    "group": ("a constant number of a group", _group),
    "replacement": (
        "a constant text",
        lambda _, index, constants: _problem(
            "a replacement", find_replacement_problem(str(constants[index]), str(constants[1]))
        ),
    ),
    "scale": (
        "a constant number of decimals",
        _of_value(lambda value: _whole(value, -MAX_SCALE, MAX_SCALE), f"-{MAX_SCALE} to {MAX_SCALE}"),
    ),
    "bits": ("a constant number of bits", _of_value(lambda value: value in SHA2_BITS, "224, 256, 384 or 512")),
    "unit": ("a constant unit, as 'hour'", _unit),
    "weekday": (
        "a constant day of the week",
        _of_value(lambda value: str(value).lower() in WEEKDAYS, "a day of the week, as 'Monday' or 'Mon'"),
    ),
    "format": (
        "a constant pattern",
        lambda _, index, constants: _problem(_FORMAT, check_format(str(constants[index]))),
    ),
    "parse format": (
        "a constant pattern",
        lambda _, index, constants: _problem(_FORMAT, check_parse_format(str(constants[index]))),
    ),
    "zone": ("a constant time zone", _zone),
    "truth value": ("true or false", _of_value(lambda value: isinstance(value, bool), "true or false")),
}
