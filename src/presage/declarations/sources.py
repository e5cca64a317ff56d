"""The options of each kind of source, and their checks. The sources themselves are in `presage.sources`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from presage.declarations.catalog_objects import STREAM_OPTIONS
from presage.declarations.kafka import KAFKA_OPTIONS, check_kafka, is_kafka_option
from presage.declarations.options import check_one_of
from presage.declarations.permissions import check_secret
from presage.declarations.predicted_streams import PREDICTED_OPTIONS, is_predicted_option
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import EventType
from presage.model.text import Span
from presage.model.time import parse_duration, parse_timestamp
from presage.model.types import STRING, TIMESTAMP, DataType

# Options of a source that is not listed are not checked.
SOURCE_OPTIONS: dict[str, tuple[str, ...]] = {
    "memory": (),
    "files": ("path", "format", "pattern", "order", "settle"),
    "rate": ("rows_per_second", "rows", "start", "keys"),
    "kafka": KAFKA_OPTIONS,
    "spark": ("format", "path", "checkpoint"),
    "mqtt": (
        *("host", "port", "topic", "format", "client", "version", "username", "password", "session", "inflight"),
        *("tls", "tls_ca", "tls_cert", "tls_key", "spool_mb", "topic_as", "received_as"),
    ),
}
NEEDED = {
    "files": {"path": "path = 'incoming', the folder that its files are put into"},
    "kafka": {"topic": "topic = 'faults', whose messages are its events"},
    "spark": {"format": "format = 'parquet', or another format of spark.readStream"},
    "mqtt": {"host": "host = 'localhost', where the broker is", "topic": "topic = 'building/+/temp'"},
}
SPARK_PREFIX = "option."  # of options that Spark's reader gets
MESSAGE_FORMATS = ("json", "csv")
MQTT_VERSIONS = ("5", "3.1.1")
FORMATS = ("json", "csv", "parquet")
ORDERS = ("name", "time")
LONGEST_SESSION = (2**32 - 1) * 1_000_000
_HOST = re.compile(r"[^\s/:@]+|[0-9A-Fa-f:.]+(%\w+)?")  # a name, or an address
_MOST = {"rows_per_second": 10**7, "rows": 2**53, "keys": 10**6, "port": 65_535, "inflight": 65_535, "spool_mb": 2**20}


def check_source(made: EventType, node: s.CreateType | None = None) -> None:
    """Refuse options that the source of a stream cannot use; `node`: the declaration, for places in its text."""
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
            elif name in SOURCE_OPTIONS[source] and (source, name) != ("spark", "format"):
                _check(name, value, spans.get(name))
    if source == "mqtt":
        _check_mqtt(made, spans, span)
    if source in ("rate", "spark") and made.probabilistic is not None:
        fix = "make readings with it, and infer the stream from them"
        raise error("UNSUPPORTED", span, what=f"source = '{source}'", where="for a probabilistic stream", fix=fix)
    if source != "memory" and made.inference is not None:
        fix = f"give the source to '{made.inference.over}', whose readings it is made of"
        raise error("UNSUPPORTED", span, what=f"source = '{source}'", where="for a stream that is inferred", fix=fix)


def _check_known(made: EventType, name: str, of_source: tuple[str, ...], span: Span | None) -> None:
    every = (*STREAM_OPTIONS, *of_source, *(PREDICTED_OPTIONS if made.predicted is not None else ()))
    passed_on = (made.predicted is not None and is_predicted_option(name)) or is_kafka_option(made, name)
    passed_on = passed_on or (made.options.get("source") == "spark" and name.startswith(SPARK_PREFIX))
    if name not in every and not passed_on:
        raise error("UNKNOWN_OPTION", span, name=name, owner=f"stream '{made.name}'", fix=did_you_mean(name, every))


def _check(name: str, value: str, span: Span | None) -> None:
    if name in ("format", "order"):
        check_one_of(name, value, FORMATS if name == "format" else ORDERS, span)
    if name in ("path", "pattern", "host", "topic", "client") and not value:
        raise error("BAD_VALUE", span, what=name, found="empty", expected=f"a {name}")
    if name in ("settle", "session") and parse_duration(value) is None:
        raise error("BAD_DURATION", span, found=value)
    if name == "start" and parse_timestamp(value) is None:
        raise error("BAD_TIMESTAMP", span, found=value)
    if name in _MOST:
        _check_number(name, value, span, float if name == "rows_per_second" else int, _MOST[name])


def _check_mqtt(made: EventType, spans: Mapping[str, Span], span: Span | None) -> None:
    options = made.options
    several = {"format": MESSAGE_FORMATS, "version": MQTT_VERSIONS, "tls": ("true", "false")}
    for name, known in several.items():
        if name in options and options[name].lower() not in known:
            expected, fix = f"one of {', '.join(known)}", did_you_mean(options[name], known)
            raise error("BAD_VALUE", spans.get(name), what=name, found=f"'{options[name]}'", expected=expected, fix=fix)
    if not _is_host(options["host"]):
        what, expected, fix = "host", "the name or the address of a machine", "its port goes into port = 1883"
        raise error("BAD_VALUE", spans.get("host"), what=what, found=f"'{options['host']}'", expected=expected, fix=fix)
    if not _is_filter(options["topic"]):
        found, expected = f"'{options['topic']}'", "a topic with each + alone between slashes, and # at its end"
        raise error("BAD_VALUE", spans.get("topic"), what="topic", found=found, expected=expected)
    if "password" in options:
        check_secret(f"stream '{made.name}'", "password", options["password"])
    if "password" in options and "username" not in options:
        fix = "add username = 'env:NAME'"
        raise error("MISSING_OPTION", span, owner=f"stream '{made.name}' with a password", name="username", fix=fix)
    _check_tls(made, spans)
    if (parse_duration(options.get("session", "0 sec")) or 0) > LONGEST_SESSION:
        found, expected = f"'{options['session']}'", "at most 49710 days, which is as far as a broker counts"
        raise error("BAD_VALUE", spans.get("session"), what="session", found=found, expected=expected)
    for name, wanted in (("topic_as", STRING), ("received_as", TIMESTAMP)):
        if name in options:
            _check_attribute(made, name, options[name], wanted, spans.get(name))


def _check_tls(made: EventType, spans: Mapping[str, Span]) -> None:
    """A file for TLS requires tls = 'true': else the password would be sent unencrypted."""
    files = [name for name in made.options if name.startswith("tls_")]
    if files and made.options.get("tls", "false").lower() != "true":
        owner = f"stream '{made.name}' with {files[0]}"
        raise error("MISSING_OPTION", spans.get(files[0]), owner=owner, name="tls", fix="add tls = 'true'")
    if "tls_key" in files and "tls_cert" not in files:
        owner, fix = f"stream '{made.name}' with tls_key", "add tls_cert, the certificate that the key belongs to"
        raise error("MISSING_OPTION", spans.get("tls_key"), owner=owner, name="tls_cert", fix=fix)


def _is_host(text: str) -> bool:
    try:
        text.encode("idna")  # as it is looked up
    except UnicodeError:
        return False
    return _HOST.fullmatch(text) is not None


def _is_filter(topic: str) -> bool:
    *before, last = topic.split("/")
    alone = all(level == "+" or not set("+#") & set(level) for level in before)
    fits = "\0" not in topic and len(topic.encode()) < 1 << 16
    return alone and (last in ("+", "#") or not set("+#") & set(last)) and fits


def _check_attribute(made: EventType, option: str, name: str, wanted: DataType, span: Span | None) -> None:
    found = made.attribute(name)
    if found is None:
        fix = did_you_mean(name, [a.name for a in made.attributes])
        raise error("UNKNOWN_ATTRIBUTE", span, owner=f"stream '{made.name}'", name=name, fix=fix)
    if found.type != wanted:
        raise error("TYPE_MISMATCH", span, what=f"{option} = '{name}'", expected=wanted, found=found.type)


def _check_number(name: str, value: str, span: Span | None, kind: Callable[[str], float], most: int) -> None:
    try:
        fits = 0 < kind(value) <= most
    except ValueError:
        fits = False
    if not fits:
        expected = f"a {'whole ' if kind is int else ''}number more than 0 and at most {most:,}"
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected)
