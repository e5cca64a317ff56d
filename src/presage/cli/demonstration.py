"""The smart building, told step by step on the terminal: events, five queries with what they find, what to try next."""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from presage.cli.building import make_events, statements, write_files
from presage.cli.carrying import is_question
from presage.cli.progress import Progress
from presage.cli.tables import console_for_stdout, heading, write_table
from presage.cli.work import opened
from presage.lang import parse
from presage.lang import syntax as s

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.engine import Engine

NAME = "queries.epl"
WHERE = Path("examples/building")
WIDTH = 100  # of a demonstration that goes into a file
SHOWN_ROWS = 6
SHOWN_EVENTS = 2
_COMMENT = re.compile(r"^-- ?(.*)$", re.MULTILINE)


def demonstrate(folder: Path | None, debug: bool) -> None:
    """Run the demonstration; with a folder, write the example's files there first."""
    console = console_for_stdout(WIDTH)
    began = time.perf_counter()
    if folder is not None:
        write_files(folder)
        console.print(Text(f"The example's files are in {folder}"))
    with opened(None, debug) as engine:
        engine.start()
        _introduce(console, engine)
        with Progress("Spark is starting"):
            _ = engine.spark
        _ask(console, engine)
        spent = time.perf_counter() - began
    _point_on(console, folder or WHERE, spent)


def _introduce(console: Console, engine: Engine) -> None:
    text = statements("building.epl")
    console.print(heading("A smart building", console))
    console.print(Text(" ".join(_COMMENT.findall(text))))
    console.print()
    console.print(_code(_COMMENT.sub("", text).strip()))
    engine.execute(text, "building.epl")
    for stream, events in make_events().items():
        report = engine.load(stream, events)
        console.print()
        console.print(Text.assemble((stream, "bold"), f"  {report.accepted} events, for example"))
        for event in events[:SHOWN_EVENTS]:
            line = ", ".join(f"{name}: {value}" for name, value in event.items())
            console.print(Text(f"  {line}", style="dim"), no_wrap=True, overflow="ellipsis")
    console.print()


def _ask(console: Console, engine: Engine) -> None:
    script = parse(statements(NAME), NAME)
    first = next(i for i, st in enumerate(script.statements) if isinstance(st, s.Query))
    questions = sum(map(is_question, script.statements))
    number, start = 0, script.statements[first - 1].span.end
    for statement in script.statements[first:]:
        if not is_question(statement):
            engine.carry_out(statement, script)
            continue
        number += 1
        # All since the last question: the comment that explains it, and the statements that prepare it.
        text = script.source.text[start : statement.span.end].lstrip(" ;\n")
        start = statement.span.end
        console.print(heading(f"{number} of {questions}", console))
        console.print(Text(" ".join(_COMMENT.findall(text))))
        console.print()
        console.print(_code(_COMMENT.sub("", text).strip() + ";"))
        began = time.perf_counter()
        with Progress(f"query {number} of {questions}"):
            result = engine.carry_out(statement, script)
            assert result is not None
            table = result.to_arrow()
        _show(console, table, time.perf_counter() - began)


def _show(console: Console, table: pa.Table, seconds: float) -> None:
    write_table(table, console, SHOWN_ROWS, f"{{}}, {seconds:.1f} s")
    console.print()


def _code(text: str) -> Syntax:
    return Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True)


def _point_on(console: Console, folder: Path, spent: float) -> None:
    files = " ".join(f"-e {stream}={stream.lower()}.jsonl" for stream in make_events())
    commands = [
        ("the same five queries, all rows", f"presage query {NAME} {files}"),
        ("as JSON, for another program", f"presage query {NAME} {files} --format json"),
        ("how they are computed", f"presage explain {NAME}"),
        ("keep the events in a folder, and ask later", f"presage run building.epl {files} --home building.home"),
        ("", "echo 'SELECT * FROM Smoke' | presage query - --home building.home"),
        ("change something in the file, and find the mistakes without running it", f"presage check {NAME}"),
    ]
    console.print(heading("What to try next", console))
    for command in _preparations(folder):
        console.print(Text(command, style="cyan"), soft_wrap=True)
    for what, command in commands:
        if what:
            console.print(Text(f"\n# {what}", style="dim"))
        # Not wrapped: a command is there to be copied.
        console.print(Text(command, style="cyan"), soft_wrap=True)
    console.print()
    console.print(Text(f"The demonstration took {spent:.0f} s, the start of Spark included.", style="dim"))


def _preparations(folder: Path) -> list[str]:
    """What must be typed before the commands work as they stand."""
    commands = []
    activate = Path(sys.executable).parent / "activate"
    if shutil.which("presage") is None and activate.is_file():
        here = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        commands.append(f"source {here}")
    if not folder.is_dir():
        commands.append(f"presage demo --files {folder}")
    return [*commands, f"cd {folder}"]
