"""Checks of the environment variables, hosts and files that options of sources and sinks name, against permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from presage.declarations.kafka_settings import FILES, PREFIX, TOKENS
from presage.errors import error, placed
from presage.model.hosts import each_server
from presage.model.permissions import Grant, Permissions, is_reference
from presage.model.text import Span

KAFKA_SERVERS, KAFKA_PORT = "localhost:9092", 9092  # the defaults of Kafka's own tools
MQTT_PORT, MQTT_TLS_PORT = 1883, 8883
_FILES = tuple(PREFIX + name for name in FILES)
# Formats of Spark that need no permission: they reach neither hosts nor code. Those of files, where no roots are set.
_GENERATED = ("rate", "rate-micro-batch")
_OF_FILES = ("csv", "json", "orc", "parquet", "text")


def check_secret(owner: str, name: str, value: str) -> None:
    """Refuse a secret that is written out. The error has no span: the excerpt would print the secret."""
    if not is_reference(value):
        fix = f"put it in a variable of the environment and write {name} = 'env:NAME'"
        expected = "the name of a secret"
        raise error("BAD_VALUE", what=f"{name} of {owner}", found="written out", expected=expected, fix=fix)


def check_permitted(
    owner: str,
    options: Mapping[str, str],
    permissions: Permissions,
    spans: Mapping[str, Span] | None = None,
    bounded: bool = False,
) -> None:
    """Refuse variables, hosts and formats that may not be used, by name; the addresses of a host are checked on
    connecting. `bounded`: files outside of the roots may not be read."""
    grant, places = permissions.of(owner), spans or {}
    if options.get("source") == "spark":
        with placed(places.get("format")):
            _check_format(owner, options.get("format", "").lower(), permissions, bounded)
    for name, value in options.items():
        with placed(places.get(name)):
            grant.check_reference(value)
    for name, host, port in _hosts(options, grant.lists_hosts):
        with placed(places.get(name)):
            grant.check_host(host, port)


def _check_format(owner: str, name: str, permissions: Permissions, bounded: bool) -> None:
    """Refuse a format of Spark that may reach what statements may not."""
    if name in permissions.formats or name in _GENERATED or (name in _OF_FILES and not bounded):
        return
    ours = "files" if name in _OF_FILES else name if name in ("kafka", "delta") else ""
    fix = f"use source = '{ours.replace('delta', 'files')}'; or " if ours else ""
    why = ": it can read files outside of the roots" if name in _OF_FILES else ": it can connect to hosts or run code"
    raise error("FORMAT_NOT_ALLOWED", owner=owner, format=name, why=why, fix=fix)


def reachable(options: Mapping[str, str], grant: Grant, file: Callable[[str], Path]) -> dict[str, str]:
    """The options for a client that connects and reads files itself: checks the addresses of its hosts now, and
    replaces its files by their real paths, which `file` resolves under the roots."""
    for _, host, port in _hosts(options, grant.lists_hosts):
        grant.check_addresses(host, port)
    return {name: str(file(value)) if name in _FILES else value for name, value in options.items()}


def _hosts(options: Mapping[str, str], listed: bool) -> Iterator[tuple[str, str, int]]:
    """Option, host and port of every connection; values from the environment are not resolved yet. Kafka's default
    broker is checked only where an allow-list of hosts exists."""
    kind = options.get("source") or options.get("sink")
    if kind == "kafka" and (listed or "servers" in options):
        for host, port in each_server(options.get("servers", KAFKA_SERVERS), KAFKA_PORT):
            yield "servers", host, port
    if kind == "mqtt":
        usual = MQTT_TLS_PORT if options.get("tls", "false").lower() == "true" else MQTT_PORT
        yield "host", options["host"], int(options.get("port", usual))
    for name in ("url", f"{PREFIX}{TOKENS}"):
        if name in options and not is_reference(options[name]):
            yield name, *url_host(options[name])


def url_host(url: str) -> tuple[str, int]:
    """Host and port of a URL; the default port of its scheme if it has none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
