"""Execution of a script statement by statement, with its files of events: shared by `run` and `query`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from presage.cli.events import EventFile, check_event_files, load_events
from presage.cli.progress import Progress
from presage.lang import syntax as s
from presage.workspace import Workspace

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.execution.result import Result


class Outcome(NamedTuple):
    """A statement, its own text, and its rows if it has any."""

    statement: s.Statement
    text: str
    result: Result | None
    number: int  # of the question, from 1
    questions: int  # in all


def is_question(statement: s.Statement) -> bool:
    """Whether the statement only reads."""
    return isinstance(statement, s.Show | s.Describe | s.Explain) or (
        isinstance(statement, s.Query) and statement.insert_into is None
    )


def check_script(text: str, name: str, engine: Engine | None = None) -> s.Script:
    """The statements of a text; all errors are raised before the first one is executed."""
    return Workspace(None, Path.cwd()).check(text, name) if engine is None else engine.checked(text, name)


def live_queries(script: s.Script, engine: Engine) -> list[s.Statement]:
    """The queries of a checked text over streams with a source: they have no end."""
    workspace = Workspace(None, Path.cwd(), engine.catalog)
    found: list[s.Statement] = []
    for statement in script.statements:
        workspace.follow(statement)
        if isinstance(statement, s.Query) and statement.insert_into is None:
            types = workspace.catalog.types
            if any(types[scan.stream].has_source for scan in workspace.bind(statement).scans()):
                found.append(statement)
    return found


def carry_out(
    engine: Engine, script: s.Script, files: list[EventFile], live: Sequence[s.Statement] = ()
) -> Iterator[Outcome]:
    """Each statement in turn. Events are loaded when all that is declared ahead of the first question is declared.

    Those in `live` are only listed, not executed.
    """
    declared = [st.name for st in script.statements if isinstance(st, s.CreateType)]
    check_event_files(files, [t.name for t in engine.catalog.types.values() if t.kind == "stream"] + declared)
    waiting = list(files)
    questions = sum(map(is_question, script.statements))
    number = 0
    for statement in script.statements:
        asks = is_question(statement)
        if asks:
            waiting = _load_declared(engine, waiting)
            number += 1
        result = None
        if not any(statement is one for one in live):
            with Progress(f"query {number} of {questions}" if asks else "declaring"):
                result = engine.carry_out(statement, script)
                if result is not None:
                    result.to_arrow()
        yield Outcome(statement, _text_of(statement, script), result, number, questions)
    _load_declared(engine, waiting)


def _load_declared(engine: Engine, files: list[EventFile]) -> list[EventFile]:
    """Load what can be loaded now; the files whose stream is declared later."""
    waiting = []
    for file in files:
        if file.stream in engine.catalog.types:
            load_events(engine, file)
        else:
            waiting.append(file)
    return waiting


def _text_of(statement: s.Statement, script: s.Script) -> str:
    return script.source.text[statement.span.start : statement.span.end]
