"""What the options of a source or a sink name of the process and of its network, held to what statements may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from presage.declarations.kafka_settings import FILES, PREFIX, TOKENS
from presage.errors import error, placed
from presage.model.hosts import each_server
from presage.model.permissions import Grant, Permissions, is_reference
from presage.model.text import Span

KAFKA_SERVERS, KAFKA_PORT = "localhost:9092", 9092  # what Kafka's own tools take for granted
MQTT_PORT, MQTT_TLS_PORT = 1883, 8883
_FILES = tuple(PREFIX + name for name in FILES)


def check_secret(owner: str, name: str, value: str) -> None:
    """Refuse a secret that is written out. Without a place: the lines around it would show it once more."""
    if not is_reference(value):
        fix = f"put it in a variable of the environment and write {name} = 'env:NAME'"
        expected = "the name of a secret"
        raise error("BAD_VALUE", what=f"{name} of {owner}", found="written out", expected=expected, fix=fix)


def check_permitted(
    owner: str, options: Mapping[str, str], permissions: Permissions, spans: Mapping[str, Span] | None = None
) -> None:
    """Refuse variables and hosts that may not be used, as far as their names tell: what a host's name resolves to is
    looked at when it is connected to."""
    grant, places = permissions.of(owner), spans or {}
    for name, value in options.items():
        with placed(places.get(name)):
            grant.check_reference(value)
    for name, host, port in _hosts(options, grant.lists_hosts):
        with placed(places.get(name)):
            grant.check_host(host, port)


def reachable(options: Mapping[str, str], grant: Grant, file: Callable[[str], Path]) -> dict[str, str]:
    """The options of a client that connects and reads files by itself: the addresses of its hosts are checked now, and
    `file` gives the real paths, under the roots, of what it reads."""
    for _, host, port in _hosts(options, grant.lists_hosts):
        grant.check_addresses(host, port)
    return {name: str(file(value)) if name in _FILES else value for name, value in options.items()}


def _hosts(options: Mapping[str, str], listed: bool) -> Iterator[tuple[str, str, int]]:
    """Option, host and port of all that is connected to. What the environment holds is not known yet. A statement that
    names no broker has chosen none: Kafka's usual one needs a name only where hosts are listed."""
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
    """Host and port of an address that has both; the port of its scheme if it names none."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
