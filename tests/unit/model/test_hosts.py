"""Hosts that may be connected to: every way to write an address of this machine, names that resolve to one, lists."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from presage.errors import PresageError
from presage.model.hosts import Hosts

LOCAL = [
    "127.0.0.1",
    "127.9.9.9",
    "localhost",
    "LOCALHOST.",
    "x.localhost",
    "::1",
    "0.0.0.0",
    "0",
    "::",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0x7f.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::127.0.0.1",
    "2002:7f00:1::",
    "169.254.169.254",
    "2852039166",
    "::ffff:169.254.169.254",
    "fe80::1",
    "fe80::1%1",
    "fd00:ec2::254",
    "100.100.100.200",
    "0:0:0:0:0:0:0:1",
]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names resolve to."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *rest: Any, **more: Any) -> Any:
        return [found for each in known.get(host, [host]) for found in real(each, port, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


def refused(hosts: Hosts, host: str, port: int = 80) -> str:
    with pytest.raises(PresageError) as problem:
        hosts.check("sink 'x'", host, port)
    assert problem.value.code == "HOST_NOT_ALLOWED"
    return str(problem.value)


@pytest.mark.parametrize("host", LOCAL)
def test_this_machine_is_refused_however_it_is_written(host: str, names: dict[str, list[str]]) -> None:
    for hosts in (Hosts(), Hosts(["*"]), Hosts(["example.org"]), Hosts(["*.localhost", "10.0.0.0/8"])):
        refused(hosts, host)
    names["evil.example"] = [host.partition("%")[0]] if "localhost" not in host.lower() else ["127.0.0.1"]
    for allowed in (None, ["*"], ["evil.example"]):
        with pytest.raises(PresageError, match="HOST_NOT_ALLOWED"):
            Hosts(allowed).connect("sink 'x'", "evil.example", 9, 1.0)
        with pytest.raises(PresageError, match="HOST_NOT_ALLOWED"):
            Hosts(allowed).check_all("sink 'x'", "evil.example", 9)


def test_the_fix_names_what_would_let_it_pass() -> None:
    for host, named in (("localhost", "localhost"), ("2130706433", "127.0.0.1"), ("::1", "::1")):
        told = refused(Hosts(), host)
        assert f"allow_hosts=['{named}']" in told
        Hosts([named]).check("sink 'x'", host, 80)


def test_a_list_holds_names_domains_networks_and_ports_and_nothing_else_passes() -> None:
    hosts = Hosts(["hooks.example.org", "*.inner.example", "10.1.0.0/16", "[::1]:8080", "127.0.0.1:9000"])
    for host, port in [
        ("Hooks.Example.org.", 1),
        ("a.b.inner.example", 1),
        ("10.1.2.3", 1),
        ("::1", 8080),
        ("127.0.0.1", 9000),
        ("::ffff:127.0.0.1", 9000),
    ]:
        hosts.check("sink 'x'", host, port)
    for host, port in [("10.2.0.1", 1), ("::1", 80), ("127.0.0.1", 80), ("8.8.8.8", 53)]:
        refused(hosts, host, port)
    by_name = Hosts(["hooks.example.org", "*.inner.example"])
    for host in ("example.org", "xhooks.example.org", "inner.example", "xinner.example", "hooks.example.org.evil"):
        refused(by_name, host)


@pytest.mark.parametrize("wrong", ["", "http://x", "a b", "10.0.0.0/99", "x:99999999", "[x]", "a:b:c", "*x", "x/y"])
def test_what_is_no_host_is_no_entry(wrong: str) -> None:
    with pytest.raises(PresageError, match="an allowed host"):
        Hosts([wrong])


def test_of_several_addresses_only_those_that_may_be_are_connected_to(names: dict[str, list[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        names["mixed.example"] = ["127.0.0.2", "127.0.0.1"]
        hosts = Hosts(["127.0.0.1"])
        with hosts.connect("sink 'x'", "mixed.example", port, 5.0) as made:
            assert made.getpeername()[0] == "127.0.0.1"
        # A client that looks the name up by itself could take the other one.
        with pytest.raises(PresageError, match="HOST_NOT_ALLOWED"):
            hosts.check_all("sink 'x'", "mixed.example", port)


def test_a_name_is_looked_up_once_for_a_connection(
    names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    known = socket.getaddrinfo

    def counting(host: str, *rest: Any, **more: Any) -> Any:
        asked.append(host)
        return known(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", counting)
    with socket.create_server(("127.0.0.1", 0)) as server:
        names["once.example"] = ["127.0.0.1"]
        Hosts(["localhost"]).connect("sink 'x'", "once.example", server.getsockname()[1], 5.0).close()
    assert asked.count("once.example") == 1
