"""Options of a stream with `source = 'kafka'`: which there are and what they may be. No connection is made."""

from __future__ import annotations

import re

from presage.errors import did_you_mean, error
from presage.model.catalog import EventType
from presage.model.secrets import is_reference
from presage.model.text import Span
from presage.model.time import parse_timestamp

KAFKA_OPTIONS = ("servers", "topic", "format", "columns", "start", "user", "password")
PREFIX = "kafka."  # what begins so is a setting of Kafka's own client
FORMATS = ("json", "csv")
STARTS = ("earliest", "latest")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,/]+):[0-9]{1,5}")
# What goes by such a name is a secret: a declaration names the variable that holds it.
_SECRET = re.compile(r"password|jaas|secret|token(?!\.endpoint)|\.key$|credential")
# Settings that the source itself decides on.
_OURS = {
    "kafka.bootstrap.servers": "write servers = 'host:port'",
    "kafka.auto.offset.reset": "write start = 'earliest' or 'latest'",
    "kafka.enable.auto.commit": "how far it is stands in the log, with the events",
    "kafka.key.deserializer": "write format = 'json' or 'csv'",
    "kafka.value.deserializer": "write format = 'json' or 'csv'",
    "kafka.interceptor.classes": "leave it out: the connector does not allow it",
}


def is_kafka_option(made: EventType, name: str) -> bool:
    return made.options.get("source") == "kafka" and name.startswith(PREFIX) and len(name) > len(PREFIX)


def is_secret(name: str) -> bool:
    """Whether an option of that name holds what nobody should read."""
    return _SECRET.search(name) is not None


def check_kafka(made: EventType, name: str, value: str, span: Span | None = None) -> None:
    """Refuse a value that no broker could make sense of, and a secret that is written out."""
    if name in _OURS:
        raise error("UNKNOWN_OPTION", span, name=name, owner=f"stream '{made.name}'", fix=_OURS[name])
    if is_secret(name) and not is_reference(value):
        # Without a place: the lines around it would show the secret once more.
        fix = f"put it in a variable of the environment and write {name} = 'env:NAME'"
        what = f"{name} of stream '{made.name}'"
        raise error("BAD_VALUE", what=what, found="written out", expected="the name of a secret", fix=fix)
    expected = ""
    several: tuple[str, ...] = ()
    if name == "servers" and not all(_SERVER.fullmatch(part.strip()) for part in value.split(",")):
        expected = "hosts with their ports, 'one:9092,two:9092' for example"
    elif name == "topic" and (not _TOPIC.fullmatch(value) or value in (".", "..")):
        expected = "the name of one topic: letters, digits, '.', '_' and '-'"
    elif name == "format" and value not in FORMATS:
        expected, several = f"one of {', '.join(FORMATS)}", FORMATS
    elif name == "start" and value not in STARTS and parse_timestamp(value) is None:
        expected, several = "'earliest', 'latest' or a timestamp", STARTS
    elif name == "columns":
        _check_columns(made, value, span)
    elif name in ("user", "password") and {"user", "password"} - made.options.keys():
        expected = "given together: user and password"
    if expected:
        fix = did_you_mean(value, several) if several else ""
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected, fix=fix)


def columns_of(made: EventType) -> list[str]:
    """The names of a CSV message's fields: as the option says, else the attributes in their order."""
    given = made.options.get("columns")
    return [name.strip() for name in given.split(",")] if given is not None else [a.name for a in made.attributes]


def _check_columns(made: EventType, value: str, span: Span | None) -> None:
    names = columns_of(made)
    if made.options.get("format") != "csv":
        fix = "add format = 'csv', or leave it out: the names of JSON stand in the messages"
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="given for format = 'csv'", fix=fix)
    twice = next((name for name in names if not name or names.count(name) > 1), None)
    if twice is not None:
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="names, each of them once")
    if made.event_time not in names:
        fix = f"name the event time, {made.event_time}, among them"
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="all fields in order", fix=fix)
