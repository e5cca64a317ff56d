"""Commands as Typer takes them: it reads what is not plain, prints help, and says what is wrong."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Annotated, Any

import typer

from presage.cli.parameters import Argument, Command, Option, WrongUsageError, declared


def for_typer(command: Command) -> Command:
    """The command with its parameters in Typer's words."""

    @wraps(command)
    def call(**values: Any) -> None:
        try:
            command(**values)
        except WrongUsageError as wrong:
            raise typer.BadParameter(str(wrong), param_hint=f"'{wrong.flag}'") from None

    signature = inspect.signature(command)
    call.__annotations__ = {name: _annotation(type_, what) for name, (type_, what) in declared(command)}
    parameters = [each.replace(annotation=call.__annotations__[each.name]) for each in signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _annotation(type_: Any, what: Any) -> Any:
    if isinstance(what, Option):
        what = typer.Option(*what.flags, help=what.help, metavar=what.metavar, min=what.least)
    elif isinstance(what, Argument):
        what = typer.Argument(help=what.help, metavar=what.metavar)
    return type_ if what is None else Annotated[type_, what]
