"""The printer of options: `WITH (…)`."""

from __future__ import annotations

from presage.lang.identifiers import spell_name, spell_string
from presage.lang.syntax import Option


def print_options(options: tuple[Option, ...]) -> str:
    given = [f"{_name(option.name)} = {_value(option.value)}" for option in options]
    return f"WITH ({', '.join(given)})"


def _name(name: str) -> str:
    """A dotted name part by part; one in which a part is odd as a whole."""
    parts = name.split(".")
    return ".".join(spell_name(part) for part in parts) if all(parts) else spell_name(name)


def _value(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return spell_string(value) if isinstance(value, str) else repr(value)
