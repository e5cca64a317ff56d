"""The cell magic `%%epl`: executes statements and shows the rows of the last one as a table.

    %%epl                    execute the statements; the rows of the last one that has any
    %%epl --deploy hot       deploy the last one under a name, after executing the others
    %%epl --into rows        keep the rows in a variable as well, also of a cell that draws them
    %%epl --plot [column]    draw the rows instead
    %%epl --explain          the plan of the last one

The engine is the notebook's variable `engine`; without one, an engine in memory is made and put there.
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentError, ArgumentParser, Namespace
from typing import Any, NoReturn

from presage.engine import Engine
from presage.errors import PresageError, error
from presage.lang import parse
from presage.notebooks.plot import plot

ENGINE = "engine"
Shell = Any  # IPython's Shell, which is half typed; this module must not need it


class _Options(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _options() -> ArgumentParser:
    options = _Options(prog="%%epl", add_help=False, exit_on_error=False)
    shown = options.add_mutually_exclusive_group()
    shown.add_argument("--deploy", metavar="NAME")
    shown.add_argument("--explain", action="store_true")
    shown.add_argument("--plot", nargs="?", const="", metavar="COLUMN")
    options.add_argument("--by", metavar="COLUMN")
    options.add_argument("--replace", action="store_true")
    options.add_argument("--into", metavar="VARIABLE")
    options.add_argument("--engine", default=ENGINE, metavar="VARIABLE")
    return options


def _asked(line: str) -> Namespace:
    try:
        return _options().parse_args(shlex.split(line))
    except (ArgumentError, ValueError) as wrong:  # a quote that is not closed is a ValueError
        usage = _options().format_usage().removeprefix("usage: ").strip()
        raise error("BAD_VALUE", what=f"%%epl {line}", found=f"wrong ({wrong})", expected=f"like {usage}") from wrong


class Cells:
    """`%%epl` in one notebook."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def epl(self, line: str, cell: str) -> Any:
        asked = _asked(line)
        engine = self._engine(asked.engine)
        found = self._carried_out(engine, asked, cell)
        if asked.into is not None:
            self._shell.push({asked.into: found})  # the rows, drawn or not
        return self._drawn(found, asked)

    def _engine(self, name: str) -> Engine:
        known = self._shell.user_ns.get(name)
        if known is None:
            known = Engine()
            self._shell.push({name: known})
        if not isinstance(known, Engine):
            expected = "a presage.Engine, as in engine = presage.Engine(home='…')"
            raise error(
                "BAD_VALUE", what=f"the variable '{name}'", found=f"a {type(known).__name__}", expected=expected
            )
        return known

    @staticmethod
    def _carried_out(engine: Engine, asked: Namespace, cell: str) -> Any:
        if asked.deploy is not None or asked.explain:
            before, last = _apart(cell)
            engine.execute(before, "cell")
            if asked.explain:
                return engine.execute(f"EXPLAIN {last}", "cell")
            return engine.deploy(last, name=asked.deploy, replace=asked.replace)
        return engine.execute(cell, "cell")

    @staticmethod
    def _drawn(found: Any, asked: Namespace) -> Any:
        if asked.plot is None:
            return found
        if found is None:
            raise error(
                "BAD_VALUE", what="--plot", found="a cell without rows", expected="a SELECT as the last statement"
            )
        return plot(found, asked.plot or None, by=asked.by)


def _apart(cell: str) -> tuple[str, str]:
    """The last statement, and all before it."""
    statements = parse(cell, "cell").statements
    if not statements:
        raise error("SYNTAX", found="the end of the cell", expected="a statement", fix="write a SELECT")
    start = statements[-1].span.start
    return cell[:start], cell[start:].strip().removesuffix(";")


def load_ipython_extension(shell: Shell) -> None:
    """What `%load_ext presage` calls."""
    shell.register_magic_function(Cells(shell).epl, "cell", "epl")
    shell.set_custom_exc((PresageError,), _tell)


def _tell(shell: Shell, kind: type, problem: PresageError, trace: object, tb_offset: object = None) -> None:
    """Print the error with its line and caret instead of a traceback."""
    sys.stderr.write(f"{problem}\n")
