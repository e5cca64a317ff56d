"""The parameters of commands, and the reading of plain command lines without Typer, which takes longer to load than a
small query to run. What is not plain (help, abbreviations, mistakes) is left to Typer, which answers it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

Command = Callable[..., None]

# Where the commands are that people and editors run again and again: module and function.
_PLAIN = {
    "query": ("query", "query"),
    "run": ("run", "run"),
    "check": ("check", "check"),
    "explain": ("explain", "explain"),
    "test": ("test", "try_scenarios"),
}


class Option(NamedTuple):
    """`Annotated[type, Option(…)]`: a parameter with a name, such as --rows N."""

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    least: float | None = None


class Argument(NamedTuple):
    """`Annotated[type, Argument(…)]`: a parameter by its place."""

    metavar: str
    help: str


class WrongUsageError(Exception):
    """A value of an option that the command does not take. Raised before any work is done."""

    def __init__(self, message: str, flag: str) -> None:
        super().__init__(message)
        self.flag = flag


def run_plainly(words: Sequence[str]) -> bool:
    """Run the command of a plain command line; False, before any work is done, if Typer must read it."""
    place = _PLAIN.get(words[0]) if words else None
    if place is None:
        return False
    command = getattr(import_module(f"presage.cli.{place[0]}"), place[1])
    values = read_plainly(command, words[1:])
    if values is None:
        return False
    try:
        command(**values)
    except WrongUsageError:
        return False
    return True


def read_plainly(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The parameters of a command, as Typer reads them; None if the words are not plain."""
    types = dict(declared(command))
    flags = {flag: name for name, (_, what) in types.items() if isinstance(what, Option) for flag in what.flags}
    (place,) = (name for name, (_, what) in types.items() if isinstance(what, Argument))
    given: dict[str, list[str]] = {}
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            name, value = place, word
        else:
            flag, equals, value = word.partition("=")
            if flag not in flags or (equals and not flag.startswith("--")):
                return None
            name = flags[flag]
            if types[name][0] is bool:
                value = "" if equals else flag
            elif not equals:
                value = next(left, "")
                value = "" if value.startswith("-") and value != "-" else value
        if not value:
            return None
        given.setdefault(name, []).append(value)
    if place not in given:
        return None
    try:
        return {name: _value(*types[name], texts) for name, texts in given.items()}
    except ValueError:
        return None


def declared(command: Command) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The parameters of a command: name, type, and the option or argument that it is."""
    hints = get_type_hints(command, include_extras=True)
    for name in inspect.signature(command).parameters:
        hint = hints[name]
        yield name, (get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, None))


def _value(type_: Any, what: Any, texts: list[str]) -> Any:
    """ValueError if the texts are not of the type."""
    if get_origin(type_) is list:
        return texts
    (text,) = texts
    kind = next((each for each in get_args(type_) if each is not type(None)), type_)
    if kind in (int, float):
        if not (text.isascii() and text.isdigit()):  # Typer knows other ways to write them
            raise ValueError(text)
        value = kind(text)
        if what.least is not None and value < what.least:
            raise ValueError(text)
        return value
    if kind is bool:
        return True
    assert kind in (str, Path) or issubclass(kind, Enum)
    return kind(text)
