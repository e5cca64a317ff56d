"""What statements may use of the process and of its network: variables of the environment, hosts. Whoever opens the
engine names them.

`env:NAME` in an option is read when it is used, never kept. A declaration holds the name of the variable and nothing
else; so do the catalog, SHOW and DESCRIBE. What could still tell the value, the message of a failure for example, goes
through `Grant.masked`.
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
    """Whether an option's value names a variable of the environment, and does not hold the secret itself."""
    return _REFERENCE.fullmatch(text) is not None


class Permissions:
    """`env`: names of variables that options may refer to, none by default. `hosts`: see `presage.model.hosts`."""

    def __init__(
        self,
        env: Iterable[str] = (),
        hosts: Iterable[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        for what, given in (("allow_env", env), ("allow_hosts", hosts)):
            if isinstance(given, str):  # it would be taken letter by letter
                raise error("BAD_VALUE", what=what, found=f"'{given}'", expected=f"a list: {what}=['{given}']")
        self.env = frozenset(env)
        self.hosts = Hosts(hosts)
        self.environment = os.environ if environment is None else environment
        wrong = next((name for name in sorted(self.env) if not _VARIABLE.fullmatch(name)), None)
        if wrong is not None:
            raise error("BAD_VALUE", what="allow_env", found=f"'{wrong}'", expected="names of variables")

    def of(self, owner: str) -> Grant:
        return Grant(owner, self)


class Grant:
    """What one sink or one source may use; errors name it as `owner`. A value that was resolved is kept out of all that
    is shown from then on."""

    def __init__(self, owner: str, permissions: Permissions) -> None:
        self._owner = owner
        self._permissions = permissions

    def check_reference(self, text: str) -> None:
        """Refuse a text that names a variable which may not be used, set or not."""
        found = _REFERENCE.fullmatch(text)
        if found is not None and found["name"] not in self._permissions.env:
            raise error("ENV_NOT_ALLOWED", owner=self._owner, name=found["name"])

    def resolve(self, text: str) -> str:
        """The text with the value of the variable that it names; an error names the variable if there is none."""
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
        """The text without any value that was resolved."""
        return masked(text)

    @property
    def lists_hosts(self) -> bool:
        return self._permissions.hosts.is_list

    def check_host(self, host: str, port: int) -> None:
        """Refuse what is known to be refused without asking for the addresses of a name."""
        self._permissions.hosts.check(self._owner, host, port)

    def check_addresses(self, host: str, port: int) -> None:
        """Refuse a host one of whose addresses may not be connected to: for clients that connect by themselves."""
        self._permissions.hosts.check_all(self._owner, host, port)

    def connect(self, host: str, port: int, timeout: float | None) -> socket.socket:
        return self._permissions.hosts.connect(self._owner, host, port, timeout)
