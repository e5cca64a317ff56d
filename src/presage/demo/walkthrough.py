"""The walk through an example on the terminal: events, queries with their rows, what to try next."""

from __future__ import annotations

import re
import shutil
import sys
import time
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from presage.cli.progress import Progress
from presage.cli.script import is_question
from presage.cli.script_results import opened
from presage.cli.tables import console_for_stdout, heading, write_table
from presage.demo.examples import QUERIES, Example, ExampleName, example
from presage.lang import parse
from presage.lang import syntax as s

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.engine import Engine

WHERE = Path("examples")
WIDTH = 100  # of a demonstration that goes into a file
SHOWN_ROWS = 6
SHOWN_EVENTS = 2
_COMMENT = re.compile(r"^-- ?(.*)$", re.MULTILINE)
_PREFIX = re.compile(r"^PREFIX .*\n", re.MULTILINE)


def demonstrate(name: ExampleName, folder: Path | None, debug: bool) -> None:
    """Run the demonstration; with a folder, write the example's files there first."""
    console = console_for_stdout(WIDTH)
    began = time.perf_counter()
    shown = example(name)
    with TemporaryDirectory() as passing:
        files = folder or Path(passing)
        shown.write(files)
        if folder is not None:
            console.print(Text(f"The example's files are in {folder}"))
        # Its statements name files that lie beside them.
        with chdir(files), opened(None, debug) as engine:
            _introduce(console, engine, shown)
            _ask(console, engine)
            streams = list(shown.events(Path(), engine.catalog.types))
            spent = time.perf_counter() - began
    _point_on(console, shown, streams, folder or WHERE / shown.name, spent)


def _introduce(console: Console, engine: Engine, shown: Example) -> None:
    text = Path(shown.declarations).read_text(encoding="utf-8")
    console.print(heading(shown.title, console))
    console.print(Text(" ".join(_COMMENT.findall(text))))
    console.print()
    console.print(_code(re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", text)).strip()))
    engine.execute(text, shown.declarations)
    for stream, events in shown.events(Path(), engine.catalog.types).items():
        report = engine.load(stream, events)
        console.print()
        console.print(Text.assemble((stream, "bold"), f"  {report.accepted} events, for example"))
        for event in events[:SHOWN_EVENTS]:
            line = ", ".join(f"{name}: {value}" for name, value in event.items())
            console.print(Text(f"  {line}", style="dim"), no_wrap=True, overflow="ellipsis")
    console.print()


def _ask(console: Console, engine: Engine) -> None:
    script = parse(Path(QUERIES).read_text(encoding="utf-8"), QUERIES)
    first = next(i for i, st in enumerate(script.statements) if isinstance(st, s.Query))
    questions = sum(map(is_question, script.statements))
    number, start, told = 0, script.statements[first - 1].span.end, set[str]()
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
        # What a prefix stands for is told once.
        known = [prefix for prefix in _PREFIX.findall(text) if prefix in told]
        told.update(_PREFIX.findall(text))
        for prefix in known:
            text = text.replace(prefix, "", 1)
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


def _point_on(console: Console, shown: Example, streams: list[str], folder: Path, spent: float) -> None:
    files = " ".join(f"-e {stream}={stream.lower()}.jsonl" for stream in streams)
    home = f"{shown.name}.home"
    commands = [
        ("the same queries, all rows", f"presage query {QUERIES} {files}"),
        ("as JSON, for another program", f"presage query {QUERIES} {files} --format json"),
        ("how they are computed", f"presage explain {QUERIES}"),
        ("keep the events in a folder, and ask later", f"presage run {shown.declarations} {files} --home {home}"),
        ("", f"echo '{shown.ask}' | presage query - --home {home}"),
        ("change something in the file, and find the mistakes without running it", f"presage check {QUERIES}"),
    ]
    console.print(heading("What to try next", console))
    for command in _preparations(shown, folder):
        console.print(Text(command, style="cyan"), soft_wrap=True)
    for what, command in commands:
        if what:
            console.print(Text(f"\n# {what}", style="dim"))
        # Not wrapped: a command is there to be copied.
        console.print(Text(command, style="cyan"), soft_wrap=True)
    console.print()
    console.print(Text(f"The demonstration took {spent:.0f} s.", style="dim"))


def _preparations(shown: Example, folder: Path) -> list[str]:
    """What must be typed before the commands work as they stand."""
    commands = []
    activate = Path(sys.executable).parent / "activate"
    if shutil.which("presage") is None and activate.is_file():
        here = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        commands.append(f"source {here}")
    if not folder.is_dir():
        commands.append(f"presage demo {shown.demo} --files {folder}")
    return [*commands, f"cd {folder}"]
