"""Arguments that must be constants in (patterns, units, formats), an error for a bad one out, before any job starts."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from presage.errors import PresageError, error
from presage.functions.scalars import BY_NAME
from presage.model.text import Span
from presage.plan.regex import count_groups, find_problem, find_replacement_problem
from presage.plan.time_format import check_format, check_parse_format
from presage.plan.time_units import DATE_UNITS, TIME_UNITS, WEEKDAYS

SHA2_BITS = (0, 224, 256, 384, 512)
MAX_SCALE = 300

Constants = Mapping[int, object]


def check_constants(name: str, count: int, constants: Constants, span: Span | None) -> None:
    """Raise for an argument of a known function that must be a constant and is none, or a bad one.

    `constants` has the values of those arguments that are constants, by place; `count` is how many arguments there are.
    """
    entry = BY_NAME[name]
    for index, kind in entry.constants.items():
        if index >= count:
            continue
        if index not in constants or constants[index] is None:
            raise _bad(name, index, "not a constant", _EXPECTED[kind], span)
        problem = _CHECKS[kind](name, index, constants)
        if problem:
            _refuse(_bad(name, index, _shown(constants[index]), problem, span), kind)
    # The group that is taken when none is named must be there too.
    if entry.constants.get(2) == "group" and count == 2 and count_groups(str(constants[1])) == 0:
        expected = "a pattern with a group in parentheses, or name group 0"
        _refuse(_bad(name, 1, _shown(constants[1]), expected, span), "group")


@contextmanager
def patterns_of_older_homes() -> Iterator[list[PresageError]]:
    """Regular expressions that were accepted once and are refused now raise nothing while this holds: the refusals are
    collected, so that the statement can be known, and set aside."""
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


def _regex(_: str, index: int, constants: Constants) -> str | None:
    problem = find_problem(str(constants[index]))
    return f"a regular expression ({problem})" if problem else None


def _group(_: str, index: int, constants: Constants) -> str | None:
    most = count_groups(str(constants[1]))
    return None if _whole(constants[index], 0, most) else f"0 to {most}, the groups of the pattern"


def _replacement(_: str, index: int, constants: Constants) -> str | None:
    problem = find_replacement_problem(str(constants[index]), str(constants[1]))
    return f"a replacement ({problem})" if problem else None


def _scale(_: str, index: int, constants: Constants) -> str | None:
    return None if _whole(constants[index], -MAX_SCALE, MAX_SCALE) else f"-{MAX_SCALE} to {MAX_SCALE}"


def _bits(_: str, index: int, constants: Constants) -> str | None:
    return None if constants[index] in SHA2_BITS else "224, 256, 384 or 512"


def _unit(name: str, index: int, constants: Constants) -> str | None:
    units = DATE_UNITS if name == "trunc" else {**DATE_UNITS, **TIME_UNITS}
    return None if str(constants[index]).lower() in units else f"one of {', '.join(sorted(set(units.values())))}"


def _weekday(_: str, index: int, constants: Constants) -> str | None:
    return None if str(constants[index]).lower() in WEEKDAYS else "a day of the week, as 'Monday' or 'Mon'"


def _format(_: str, index: int, constants: Constants) -> str | None:
    problem = check_format(str(constants[index]))
    return f"a pattern as 'yyyy-MM-dd HH:mm:ss' ({problem})" if problem else None


def _parse_format(_: str, index: int, constants: Constants) -> str | None:
    problem = check_parse_format(str(constants[index]))
    return f"a pattern as 'yyyy-MM-dd HH:mm:ss' ({problem})" if problem else None


def _zone(_: str, index: int, constants: Constants) -> str | None:
    name = str(constants[index])
    if name == "UTC" or ("/" in name and name in zoneinfo.available_timezones()):
        return None
    return "a time zone as 'Europe/Berlin', or 'UTC'"


def _truth(_: str, index: int, constants: Constants) -> str | None:
    return None if isinstance(constants[index], bool) else "true or false"


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


_CHECKS: dict[str, Callable[[str, int, Constants], str | None]] = {
    "regex": _regex,
    "group": _group,
    "replacement": _replacement,
    "scale": _scale,
    "bits": _bits,
    "unit": _unit,
    "weekday": _weekday,
    "format": _format,
    "parse format": _parse_format,
    "zone": _zone,
    "truth value": _truth,
}
_EXPECTED = {
    "regex": "a constant regular expression",
    "group": "a constant number of a group",
    "replacement": "a constant text",
    "scale": "a constant number of decimals",
    "bits": "a constant number of bits",
    "unit": "a constant unit, as 'hour'",
    "weekday": "a constant day of the week",
    "format": "a constant pattern",
    "parse format": "a constant pattern",
    "zone": "a constant time zone",
    "truth value": "true or false",
}
