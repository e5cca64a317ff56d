"""Options of a stream's source: which there are and what they may be. What is done with them: `presage.sources`."""

from __future__ import annotations

from collections.abc import Callable

from presage.analyze.declare import STREAM_OPTIONS
from presage.analyze.declare_kafka import KAFKA_OPTIONS, check_kafka, is_kafka_option
from presage.analyze.declare_predicted import PREDICTED_OPTIONS, is_predicted_option
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import EventType
from presage.model.text import Span
from presage.model.time import parse_duration, parse_timestamp

# Those of sources that are not here are kept as they are.
SOURCE_OPTIONS: dict[str, tuple[str, ...]] = {
    "memory": (),
    "files": ("path", "format", "pattern", "order", "settle"),
    "rate": ("rows_per_second", "rows", "start", "keys"),
    "kafka": KAFKA_OPTIONS,
}
NEEDED = {
    "files": {"path": "path = 'incoming', the folder that its files are put into"},
    "kafka": {"topic": "topic = 'faults', whose messages are its events"},
}
FORMATS = ("json", "csv", "parquet")
ORDERS = ("name", "time")
MOST_PER_SECOND = 10_000_000
MOST_KEYS = 1_000_000


def check_source(made: EventType, node: s.CreateType | None = None) -> None:
    """Refuse options that the source of a stream cannot use; `node`: the declaration that says so, for its places."""
    source = made.options.get("source", "memory")
    span = node.span if node is not None else None
    spans = {option.name.lower(): option.span for option in node.options} if node is not None else {}
    for name, example in NEEDED.get(source, {}).items():
        if name not in made.options:
            owner = f"stream '{made.name}' with source = '{source}'"
            raise error("MISSING_OPTION", span, owner=owner, name=name, fix=f"add {example}")
    if source in SOURCE_OPTIONS:
        for name, value in made.options.items():
            _check_known(made, name, SOURCE_OPTIONS[source], spans.get(name))
            if source == "kafka":
                check_kafka(made, name, value, spans.get(name))
            elif name in SOURCE_OPTIONS[source]:
                _check(name, value, spans.get(name))
    if source == "rate" and made.probabilistic is not None:
        raise error("UNSUPPORTED", span, what="source = 'rate'", where="for a probabilistic stream",
                    fix="make readings with it, and infer the stream from them")  # fmt: skip
    if source != "memory" and made.inference is not None:
        raise error("UNSUPPORTED", span, what=f"source = '{source}'", where="for a stream that is inferred",
                    fix=f"give the source to '{made.inference.over}', whose readings it is made of")  # fmt: skip


def _check_known(made: EventType, name: str, of_source: tuple[str, ...], span: Span | None) -> None:
    every = (*STREAM_OPTIONS, *of_source, *(PREDICTED_OPTIONS if made.predicted is not None else ()))
    passed_on = (made.predicted is not None and is_predicted_option(name)) or is_kafka_option(made, name)
    if name not in every and not passed_on:
        raise error("UNKNOWN_OPTION", span, name=name, owner=f"stream '{made.name}'", fix=did_you_mean(name, every))


def _check(name: str, value: str, span: Span | None) -> None:
    for known, several in (("format", FORMATS), ("order", ORDERS)):
        if name == known and value not in several:
            raise error("BAD_VALUE", span, what=name, found=f"'{value}'",
                        expected=f"one of {', '.join(several)}", fix=did_you_mean(value, several))  # fmt: skip
    if name in ("path", "pattern") and not value:
        raise error("BAD_VALUE", span, what=name, found="empty", expected=f"a {name}")
    if name == "settle" and parse_duration(value) is None:
        raise error("BAD_DURATION", span, found=value)
    if name == "start" and parse_timestamp(value) is None:
        raise error("BAD_TIMESTAMP", span, found=value)
    if name == "rows_per_second":
        _check_number(name, value, span, float, MOST_PER_SECOND)
    if name == "rows":
        _check_number(name, value, span, int, 2**53)
    if name == "keys":
        _check_number(name, value, span, int, MOST_KEYS)


def _check_number(name: str, value: str, span: Span | None, kind: Callable[[str], float], most: int) -> None:
    try:
        fits = 0 < kind(value) <= most
    except ValueError:
        fits = False
    if not fits:
        expected = f"a {'whole ' if kind is int else ''}number more than 0 and at most {most:,}"
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected)
