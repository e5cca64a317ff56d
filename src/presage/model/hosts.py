"""Hosts that the engine may connect to on behalf of statements. The resolved address is checked, not only the name.

Without an allow-list, every host is allowed except this machine and its link-local network: their services, and a
cloud's metadata service, trust local callers. With a list, only its hosts are. A name on the list never allows an
address of this machine: the owner of the name decides what it resolves to.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from presage.errors import PresageError, error

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_THIS_MACHINE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_LOCAL = (
    *_THIS_MACHINE,
    ip_network("0.0.0.0/8"),  # a connection to it goes to this machine
    ip_network("::/128"),
    ip_network("169.254.0.0/16"),
    ip_network("fe80::/10"),
    # Metadata services of clouds, besides 169.254.169.254.
    ip_network("fd00:ec2::254/128"),
    ip_network("100.100.100.200/32"),
)
_NAT64, _COMPATIBLE = ip_network("64:ff9b::/96"), ip_network("::/96")
ANY = "*"


@dataclass(frozen=True)
class _Entry:
    """One host of the list: a name (`*.example.org` matches all names below it), or a network. No port: all ports."""

    name: str
    networks: tuple[Network, ...]
    port: int | None

    def names(self, host: str, port: int) -> bool:
        if self.port not in (None, port) or self.networks:
            return False
        return self.name in (ANY, host) or (self.name.startswith("*.") and host.endswith(self.name[1:]))

    def holds(self, address: Address, port: int) -> bool:
        return self.port in (None, port) and any(address in network for network in self.networks)


class Hosts:
    """The allow-list. None: every host except this machine and its link-local network."""

    def __init__(self, allowed: Iterable[str] | None = None) -> None:
        self._entries = None if allowed is None else tuple(_entry(text) for text in allowed)

    @property
    def is_list(self) -> bool:
        return self._entries is not None

    def check(self, owner: str, host: str, port: int) -> None:
        """Refuse what can be refused without resolving the name."""
        address = _written(host)
        if address is not None:
            self._require(owner, host, port, [address])
        elif self._entries is not None and not any(e.networks or e.names(_plain(host), port) for e in self._entries):
            raise _refused(owner, host, port, "it is not among the allowed hosts")

    def addresses(self, owner: str, host: str, port: int) -> list[str]:
        """The allowed addresses of a host; an error if none is allowed."""
        found = dict.fromkeys(_addresses(host, port))
        allowed = self._require(owner, host, port, [ip_address(text.partition("%")[0]) for text in found])
        return [text for text, may in zip(found, allowed, strict=True) if may]

    def check_all(self, owner: str, host: str, port: int) -> None:
        """Refuse a host if one of its addresses is not allowed: the client will resolve the name again."""
        for text in _addresses(host, port):
            self._require(owner, host, port, [ip_address(text.partition("%")[0])])

    def connect(self, owner: str, host: str, port: int, timeout: float | None) -> socket.socket:
        """A connection to the first allowed address that answers. The name is resolved once: the checked address is
        the one connected to."""
        failure: OSError | None = None
        for address in self.addresses(owner, host, port):
            try:
                return socket.create_connection((address, port), timeout)
            except OSError as refused:
                failure = refused
        assert failure is not None
        raise failure

    def _require(self, owner: str, host: str, port: int, addresses: list[Address]) -> list[bool]:
        allowed = [self._allows(_plain(host), port, address) for address in addresses]
        if not any(allowed):
            shown = ", ".join(str(a) for a in dict.fromkeys(map(_meant, addresses)))
            local = all(_is_local(_meant(a)) for a in addresses)
            why = f"{shown} is this machine or its link" if local else "it is not among the allowed hosts"
            raise _refused(owner, host, port, why, shown if local else None)
        return allowed

    def _allows(self, host: str, port: int, address: Address) -> bool:
        address, entries = _meant(address), self._entries or ()
        if any(entry.holds(address, port) for entry in entries):
            return True
        if _is_local(address):
            return False
        return self._entries is None or any(entry.names(host, port) for entry in entries)


def _addresses(host: str, port: int) -> list[str]:
    return [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _refused(owner: str, host: str, port: int, why: str, address: str | None = None) -> PresageError:
    name = f"[{host}]" if ":" in host else host
    wanted = f"{name if address is None or _is_this_machine(host) else address}"
    return error("HOST_NOT_ALLOWED", owner=owner, host=f"{name}:{port}", why=why, name=wanted)


def _is_this_machine(host: str) -> bool:
    host = _plain(host)
    return host == "localhost" or host.endswith(".localhost")


def _is_local(address: Address) -> bool:
    return any(address in network for network in _LOCAL)


def _meant(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one, if any: it is where the connection ends."""
    if not isinstance(address, IPv6Address):
        return address
    low = int(address) & 0xFFFF_FFFF
    if address.ipv4_mapped is not None or address in _NAT64 or (address in _COMPATIBLE and low > 1):
        return IPv4Address(low)
    return address.sixtofour or address


def _written(host: str) -> Address | None:
    """The address of a host written as one, in any form that the system accepts: 127.1, 0177.0.0.1, 2130706433. None:
    it is a name."""
    if _is_this_machine(host):
        return IPv4Address("127.0.0.1")
    with suppress(ValueError):
        return ip_address(host.partition("%")[0])
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def _entry(text: str) -> _Entry:
    with suppress(ValueError):
        return _Entry(text, (ip_network(text, strict=False),), None)  # also IPv6 without brackets
    found = _WITH_PORT.fullmatch(text)
    if found is not None:
        port = None if found["port"] is None else int(found["port"])
        name = _plain(found["v6"] or found["name"])
        with suppress(ValueError):
            return _Entry(text, (ip_network(name, strict=False),), port)
        if name == "localhost":
            return _Entry(text, _THIS_MACHINE, port)
        if found["v6"] is None and (name == ANY or _NAME.fullmatch(name)):
            return _Entry(name, (), port)
    expected = "a name, an address or a network, with or without a port: example.org, *.example.org, 10.0.0.0/8, ::1"
    raise error("BAD_VALUE", what="an allowed host", found=f"'{text}'", expected=expected)


def split_host(text: str, port: int) -> tuple[str, int]:
    """Host and port of `host:port` or `[::1]:port`; `port` is the default."""
    found = _WITH_PORT.fullmatch(text.strip())
    if found is None:
        return text.strip(), port
    return found["v6"] or found["name"], int(found["port"] or port)


def each_server(servers: str, port: int) -> Iterator[tuple[str, int]]:
    """Hosts and ports of a comma-separated list."""
    return (split_host(part, port) for part in servers.split(",") if part.strip())
