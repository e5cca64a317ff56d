"""Texts of options that may name a secret in, what they stand for out: `env:NAME` is read when it is used, never kept.

A declaration holds the name of the variable and nothing else; so do the catalog, SHOW and DESCRIBE. What could still
tell the value, the message of a failure for example, goes through `Secrets.masked`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from presage.errors import error
from presage.model.masking import keep_out, masked

# The whole text, or its last word: 'env:TOKEN', 'Bearer env:TOKEN'.
_REFERENCE = re.compile(r"(?P<before>(?:.*\s)?)env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)


def is_reference(text: str) -> bool:
    """Whether an option's value names a variable of the environment, and does not hold the secret itself."""
    return _REFERENCE.fullmatch(text) is not None


class Secrets:
    """Resolves references; what they stood for is kept out of all that is shown from then on."""

    def __init__(self, owner: str, environment: Mapping[str, str] | None = None) -> None:
        self._owner = owner
        self._environment = os.environ if environment is None else environment

    def resolve(self, text: str) -> str:
        """The text with the value of the variable that it names; an error names the variable if there is none."""
        found = _REFERENCE.fullmatch(text)
        if found is None:
            return text
        value = self._environment.get(found["name"])
        if not value:
            fix = f"set {found['name']} in the environment of the engine's process"
            raise error("NO_SECRET", owner=self._owner, name=found["name"], fix=fix)
        keep_out(value)
        return found["before"] + value

    def masked(self, text: str) -> str:
        """The text without any value that was resolved."""
        return masked(text)
