"""The printer of statement results, in the format that the user chose."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from presage.cli.formats import write_csv, write_json
from presage.cli.options import Format
from presage.cli.script import Outcome
from presage.cli.values import counted, one_line
from presage.lang import syntax as s
from presage.lang.sequence_syntax import CreateModel

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from presage.engine import Engine


class Printer:
    """Prints one outcome after the other; with several questions in a table each has a heading."""

    def __init__(self, format: Format, most_rows: int) -> None:
        self._format = format
        self._most_rows = most_rows
        self._console: Console | None = None
        self._printed = 0

    def rows(self, outcome: Outcome) -> None:
        """The rows of an outcome that has some."""
        assert outcome.result is not None
        self.table(outcome, outcome.result.to_arrow())
        for remark in outcome.result.remarks:
            stream = sys.stdout if self._format is Format.table else sys.stderr
            stream.write(f"{remark}\n")

    def table(self, outcome: Outcome, table: pa.Table, more: bool = False) -> None:
        """Rows of a query; `more`: others of it are printed already, and those before them were its own."""
        if self._format is Format.json:
            write_json(table)
        elif self._format is Format.csv:
            sys.stdout.write("\n" if self._printed and not more else "")
            write_csv(table, header=not more)
        else:
            self._table(outcome, table)
        self._printed += 1
        # Flush at once: a program may read the rows.
        sys.stdout.flush()

    def confirm(self, outcome: Outcome, engine: Engine) -> None:
        """One line about a declaration; on stderr where stdout belongs to rows."""
        stream = sys.stdout if self._format is Format.table else sys.stderr
        stream.write(_confirmation(outcome.statement, engine) + "\n")
        self._printed += stream is sys.stdout

    def _table(self, outcome: Outcome, table: pa.Table) -> None:
        from presage.cli.tables import console_for_stdout, heading, write_table

        console = self._console = self._console or console_for_stdout()
        if self._printed:
            console.print()
        if outcome.questions > 1:
            console.print(
                heading(f"{outcome.number} of {outcome.questions}", console, one_line(" ".join(outcome.text.split())))
            )
        if isinstance(outcome.statement, s.Explain):
            sys.stdout.write("\n".join(table["plan"].to_pylist()) + "\n")
        else:
            cut = 0 < self._most_rows < table.num_rows
            write_table(table, console, self._most_rows, "{}; --rows N shows more, 0 shows all" if cut else "{}")


def _confirmation(statement: s.Statement, engine: Engine) -> str:
    if isinstance(statement, s.CreateType):
        attributes = engine.catalog.types[statement.name].attributes
        return f"{statement.kind} {statement.name} declared, {counted(len(attributes), 'attribute')}"
    if isinstance(statement, s.CreateRelation):
        return f"relation {statement.name} declared"
    if isinstance(statement, CreateModel):
        return f"model {statement.name} declared"
    if isinstance(statement, s.Drop):
        return f"{statement.kind} {statement.name} dropped"
    if isinstance(statement, s.Query):
        count = len(engine.catalog.types[str(statement.insert_into)].producers)
        return f"stream {statement.insert_into} derived by {counted(count, 'statement')}"
    return "done"
