"""Permissions of statements: the environment variables and hosts that sources and sinks may use.

`env:NAME` in an option is resolved when it is used, and not stored: declarations, the catalog, SHOW and DESCRIBE hold
the name of the variable alone. Texts that could contain the value, such as messages of failures, go through
`Grant.masked`.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping

from presage.errors import error
from presage.model.hosts import Hosts
from presage.model.redaction import keep_out, masked

# The whole text, or its last word: 'env:TOKEN', 'Bearer env:TOKEN'.
_REFERENCE = re.compile(r"(?P<before>(?:.*\s)?)env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_reference(text: str) -> bool:
    """Whether an option's value names an environment variable instead of the secret itself."""
    return _REFERENCE.fullmatch(text) is not None


class Permissions:
    """`env`: names of variables that options may refer to, none by default. `hosts`: see `presage.model.hosts`.
    `formats`: of Spark, that sources may read with, besides those that reach neither hosts nor code."""

    def __init__(
        self,
        env: Iterable[str] = (),
        hosts: Iterable[str] | None = None,
        environment: Mapping[str, str] | None = None,
        formats: Iterable[str] = (),
    ) -> None:
        for what, given in (("allow_env", env), ("allow_hosts", hosts), ("allow_formats", formats)):
            if isinstance(given, str):  # a text would be iterated letter by letter
                raise error("BAD_VALUE", what=what, found=f"'{given}'", expected=f"a list: {what}=['{given}']")
        self.env = frozenset(env)
        self.hosts = Hosts(hosts)
        self.formats = frozenset(name.lower() for name in formats)
        self.environment = os.environ if environment is None else environment
        wrong = next((name for name in sorted(self.env) if not _VARIABLE.fullmatch(name)), None)
        if wrong is not None:
            raise error("BAD_VALUE", what="allow_env", found=f"'{wrong}'", expected="names of variables")

    def of(self, owner: str) -> Grant:
        return Grant(owner, self)


class Grant:
    """The permissions of one sink or source, which errors name as `owner`. Resolved values are masked in all output."""

    def __init__(self, owner: str, permissions: Permissions) -> None:
        self._owner = owner
        self._permissions = permissions

    def check_reference(self, text: str) -> None:
        """Refuse a reference to a variable that is not allowed, whether it is set or not."""
        found = _REFERENCE.fullmatch(text)
        if found is not None and found["name"] not in self._permissions.env:
            raise error("ENV_NOT_ALLOWED", owner=self._owner, name=found["name"])

    def resolve(self, text: str) -> str:
        """The text with its reference replaced by the value of the variable; an error if it is not set."""
        found = _REFERENCE.fullmatch(text)
        if found is None:
            return text
        self.check_reference(text)
        value = self._permissions.environment.get(found["name"])
        if not value:
            fix = f"set {found['name']} in the environment of the engine's process"
            raise error("NO_SECRET", owner=self._owner, name=found["name"], fix=fix)
        keep_out(value)
        return found["before"] + value

    def masked(self, text: str) -> str:
        """The text with all resolved values masked."""
        return masked(text)

    @property
    def lists_hosts(self) -> bool:
        return self._permissions.hosts.is_list

    def check_host(self, host: str, port: int) -> None:
        """Refuse what can be refused without resolving the name."""
        self._permissions.hosts.check(self._owner, host, port)

    def check_addresses(self, host: str, port: int) -> None:
        """Refuse a host if one of its addresses is not allowed: for clients that connect themselves."""
        self._permissions.hosts.check_all(self._owner, host, port)

    def connect(self, host: str, port: int, timeout: float | None) -> socket.socket:
        return self._permissions.hosts.connect(self._owner, host, port, timeout)
