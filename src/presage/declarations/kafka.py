"""Options of Kafka sources, and those that Kafka sinks share with them. Checked without a connection."""

from __future__ import annotations

import re
from collections.abc import Mapping

from presage.declarations.kafka_settings import PREFIX, check_setting
from presage.declarations.options import check_one_of
from presage.declarations.permissions import check_secret
from presage.errors import did_you_mean, error
from presage.model.catalog import EventType
from presage.model.text import Span
from presage.model.time import parse_timestamp

KAFKA_OPTIONS = ("servers", "topic", "format", "columns", "start", "user", "password")
FORMATS = ("json", "csv")
STARTS = ("earliest", "latest")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:,/]+):[0-9]{1,5}")
# Options whose value is a secret: a declaration names the environment variable that holds it.
_SECRET = re.compile(r"password|jaas|secret|token(?!\.endpoint)|\.key$|credential")


def is_kafka_option(made: EventType, name: str) -> bool:
    return made.options.get("source") == "kafka" and name.startswith(PREFIX) and len(name) > len(PREFIX)


def check_client(owner: str, options: Mapping[str, str], name: str, span: Span | None = None) -> None:
    """Options of sources and sinks alike: brokers, credentials, settings of Kafka's own clients."""
    value, expected = options[name], ""
    if name.startswith(PREFIX):
        check_setting(owner, name, value, span)
    if _SECRET.search(name):
        check_secret(owner, name, value)
    if name == "servers" and not all(_SERVER.fullmatch(part.strip()) for part in value.split(",")):
        expected = "hosts with their ports, 'one:9092,two:9092' for example"
    elif name == "topic" and (not _TOPIC.fullmatch(value) or value in (".", "..")):
        expected = "the name of one topic: letters, digits, '.', '_' and '-'"
    elif name in ("user", "password") and {"user", "password"} - options.keys():
        expected = "given together: user and password"
    if expected:
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected)


def check_kafka(made: EventType, name: str, value: str, span: Span | None = None) -> None:
    """Refuse an invalid value of a source's option, and a secret that is written out."""
    check_client(f"stream '{made.name}'", made.options, name, span)
    if name == "format":
        check_one_of(name, value, FORMATS, span)
    elif name == "start" and value not in STARTS and parse_timestamp(value) is None:
        expected, fix = "'earliest', 'latest' or a timestamp", did_you_mean(value, STARTS)
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected, fix=fix)
    elif name == "columns":
        _check_columns(made, value, span)


def columns_of(made: EventType) -> list[str]:
    """The field names of a CSV message: the option's, else the attributes in their order."""
    given = made.options.get("columns")
    return [name.strip() for name in given.split(",")] if given is not None else [a.name for a in made.attributes]


def _check_columns(made: EventType, value: str, span: Span | None) -> None:
    names = columns_of(made)
    if made.options.get("format") != "csv":
        fix = "add format = 'csv', or leave it out: JSON messages hold the names"
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="given for format = 'csv'", fix=fix)
    twice = next((name for name in names if not name or names.count(name) > 1), None)
    if twice is not None:
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="names, each of them once")
    if made.event_time not in names:
        fix = f"name the event time, {made.event_time}, among them"
        raise error("BAD_VALUE", span, what="columns", found=f"'{value}'", expected="all fields in order", fix=fix)
