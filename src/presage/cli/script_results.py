"""Execution of checked statements for `run` and `query`, and the printing of their results."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from presage.cli.events import EventFile
from presage.cli.failures import warn
from presage.cli.live_output import follow, missed_by
from presage.cli.options import Format
from presage.cli.output import Printer
from presage.cli.script import Outcome, carry_out, check_script, live_queries
from presage.engine import Engine
from presage.errors import error
from presage.execution.spark.jvm import launched
from presage.lang import syntax as s
from presage.lang.command_syntax import CreateStatement
from presage.logging import log_as_environment_says
from presage.select.warnings import warnings_in
from presage.storage import Leader, Standby

Allowed = Mapping[str, Any]  # what statements may use: `allow_env` and `allow_hosts` of an engine
# Spark writes the stack of a failed task to stderr; the command line says in one line what it was.
QUIET = {"spark.log.level": "OFF"}
NOTHING: Allowed = {}


def waiting() -> Standby:
    """A standby that says on stderr who has the home."""

    def tell(leader: Leader) -> None:
        sys.stderr.write(f"standing by: {leader} has the home\n")
        sys.stderr.flush()

    return Standby(tell)


@contextmanager
def opened(
    home: Path | None, debug: bool, allowed: Allowed = NOTHING, roots: Sequence[Path] | None = None
) -> Iterator[Engine]:
    """An engine for the time of a command."""
    before, py4j = logging.root.manager.disable, logging.getLogger("py4j")
    loud = py4j.disabled
    # An interrupt makes Py4J log tracebacks of its own.
    py4j.disabled = not debug
    if not debug and not log_as_environment_says():
        logging.disable(logging.CRITICAL)
    try:
        with Engine(home=home, roots=roots, settings={} if debug else QUIET, live=False, **allowed) as engine:
            try:
                yield engine
            except BaseException:
                # After an error, do not wait for Spark to start.
                jvm = launched()
                if jvm is not None:
                    jvm.abandon()
                raise
    finally:
        logging.disable(before)
        py4j.disabled = loud


def execute_all(
    text: str,
    name: str,
    files: list[EventFile],
    format: Format,
    rows: int,
    home: Path | None,
    debug: bool,
    allowed: Allowed = NOTHING,
    seconds: float | None = None,
) -> None:
    """Every statement in order: rows where there are some, else one line. Queries over streams that a source fills are
    followed when all others are done, for so many seconds or without end."""
    printer = Printer(format, rows)
    with opened(home, debug, allowed) as engine:
        script = check_script(text, name, engine)
        as_json = format is Format.json
        warn(warnings_in(script), as_json)
        live = live_queries(script, engine)
        followed = []
        for outcome in carry_out(engine, script, files, live):
            if any(outcome.statement is one for one in live):
                followed.append(outcome)
            elif outcome.result is not None:
                printer.rows(outcome)
            else:
                printer.confirm(outcome, engine)
                if isinstance(outcome.statement, CreateStatement):
                    warn(missed_by(engine.deployments[outcome.statement.name]), as_json)
        if followed:
            follow(engine, followed, printer, seconds, as_json)


def answer(
    text: str,
    name: str,
    files: list[EventFile],
    format: Format,
    rows: int,
    home: Path | None,
    debug: bool,
    allowed: Allowed = NOTHING,
) -> None:
    """The rows of every query; also of an INSERT INTO at the end."""
    printer = Printer(format, rows)
    with opened(home, debug, allowed) as engine:
        script = check_script(text, name, engine)
        warn(warnings_in(script), format is Format.json)
        last = script.statements[-1] if script.statements else None
        fills = isinstance(last, s.Query) and last.insert_into is not None
        if last is None or not (
            fills or any(isinstance(st, s.Query | s.Explain | s.Show | s.Describe) for st in script.statements)
        ):
            found = "the end of the text" if last is None else "declarations only"
            raise error(
                "SYNTAX",
                last.span if last else None,
                script.source,
                found=found,
                expected="a query",
                fix="add a SELECT, or use presage run",
            )
        outcome: Outcome | None = None
        for outcome in carry_out(engine, script, files):
            if outcome.result is not None:
                printer.rows(outcome)
        if fills and outcome is not None:
            printer.rows(outcome._replace(result=engine.query(outcome.text)))
