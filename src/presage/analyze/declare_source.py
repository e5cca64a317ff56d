"""Options of a stream's source: which there are and what they may be. What is done with them: `presage.sources`."""

from __future__ import annotations

from collections.abc import Callable

from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import EventType
from presage.model.time import parse_duration, parse_timestamp

# Those of sources that are not here are kept as they are.
SOURCE_OPTIONS: dict[str, tuple[str, ...]] = {
    "memory": (),
    "files": ("path", "format", "pattern", "order", "settle"),
    "rate": ("rows_per_second", "rows", "start", "keys"),
}
NEEDED = {"files": {"path": "path = 'incoming', the folder that its files are put into"}}
FORMATS = ("json", "csv", "parquet")
ORDERS = ("name", "time")
MOST_PER_SECOND = 10_000_000
MOST_KEYS = 1_000_000


def check_source(node: s.CreateType, made: EventType) -> None:
    """Refuse options that the source of a stream cannot use."""
    source = made.options.get("source", "memory")
    for name, example in NEEDED.get(source, {}).items():
        if name not in made.options:
            owner = f"stream '{node.name}' with source = '{source}'"
            raise error("MISSING_OPTION", node.span, owner=owner, name=name, fix=f"add {example}")
    for option in node.options:
        name = option.name.lower()
        if name in SOURCE_OPTIONS.get(source, ()):
            _check(option, name, made.options[name])
    if source == "rate" and made.probabilistic is not None:
        raise error("UNSUPPORTED", node.span, what="source = 'rate'", where="for a probabilistic stream",
                    fix="make readings with it, and infer the stream from them")  # fmt: skip
    if source != "memory" and made.inference is not None:
        raise error("UNSUPPORTED", node.span, what=f"source = '{source}'", where="for a stream that is inferred",
                    fix=f"give the source to '{made.inference.over}', whose readings it is made of")  # fmt: skip


def _check(option: s.Option, name: str, value: str) -> None:
    for known, several in (("format", FORMATS), ("order", ORDERS)):
        if name == known and value not in several:
            raise error("BAD_VALUE", option.span, what=name, found=f"'{value}'",
                        expected=f"one of {', '.join(several)}", fix=did_you_mean(value, several))  # fmt: skip
    if name in ("path", "pattern") and not value:
        raise error("BAD_VALUE", option.span, what=name, found="empty", expected=f"a {name}")
    if name == "settle" and parse_duration(value) is None:
        raise error("BAD_DURATION", option.span, found=value)
    if name == "start" and parse_timestamp(value) is None:
        raise error("BAD_TIMESTAMP", option.span, found=value)
    if name == "rows_per_second":
        _check_number(option, value, float, 0, MOST_PER_SECOND)
    if name == "rows":
        _check_number(option, value, int, 0, 2**53)
    if name == "keys":
        _check_number(option, value, int, 0, MOST_KEYS)


def _check_number(option: s.Option, value: str, kind: Callable[[str], float], low: int, most: int) -> None:
    try:
        fits = low < kind(value) <= most
    except ValueError:
        fits = False
    if not fits:
        expected = f"a {'whole ' if kind is int else ''}number more than {low} and at most {most:,}"
        raise error("BAD_VALUE", option.span, what=option.name, found=f"'{value}'", expected=expected)
