"""The rows of a result in, a table for the terminal out: wide ones become records, long ones are cut and say so."""

from __future__ import annotations

import sys

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from presage.cli.values import one_line, plain_column, table_text

# The longest text that a cell shows, and the least width at which a column is still worth having.
LONGEST = 200
NARROWEST = 8
NULL = Text("null", style="dim")
# For a file or a pipe: nothing is cut to fit.
UNLIMITED = 100_000


def console_for_stdout(width: int = UNLIMITED) -> Console:
    """Colours and the width of the window on a terminal; elsewhere no colours and the width given."""
    if sys.stdout is not None and sys.stdout.isatty():
        return Console(file=sys.stdout, highlight=False)
    return Console(file=sys.stdout, highlight=False, no_color=True, width=width)


def write_table(table: pa.Table, console: Console, most: int, remark: str = "{}") -> None:
    """The first rows as a table, then how many there are, put into `remark`. `most` = 0 shows all."""
    shown = table.slice(0, most) if most else table
    names = [one_line(name) for name in table.column_names]
    columns = [_cells(column) for column in shown.columns]
    widths = [max([cell_len(n), *(c.cell_len for c in cells)]) for n, cells in zip(names, columns, strict=True)]
    room = console.width - 2 * len(names)
    if shown.num_rows and room < sum(min(width, NARROWEST) for width in widths):
        _write_records(names, columns, console)
    else:
        _write_grid(table, names, columns, console)
    count = remark.format(_count(table.num_rows, shown.num_rows))
    console.print(Text(count, style="dim"), no_wrap=True, overflow="ellipsis")


def _write_grid(table: pa.Table, names: list[str], columns: list[list[Text]], console: Console) -> None:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for name, column in zip(names, table.columns, strict=True):
        right = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        grid.add_column(Text(name), justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
    for row in zip(*columns, strict=True):
        grid.add_row(*row)
    if console.is_terminal:
        console.print(grid)
        return
    with console.capture() as text:
        console.print(grid)
    # Rich fills the last column with blanks, which a file or a pipe need not carry.
    console.file.write("".join(line.rstrip() + "\n" for line in text.get().splitlines()))


def _write_records(names: list[str], columns: list[list[Text]], console: Console) -> None:
    """One attribute per line: what a window too narrow for the table gets."""
    label = max(map(cell_len, names))
    for number, row in enumerate(zip(*columns, strict=True), 1):
        console.print(Text(f"row {number}", style="bold"))
        for name, cell in zip(names, row, strict=True):
            line = Text(f"  {name}{' ' * (label - cell_len(name))}  ", style="dim")
            console.print(Text.assemble(line, cell), no_wrap=True, overflow="ellipsis")


def _cells(column: pa.ChunkedArray) -> list[Text]:
    return [NULL if value is None else Text(_short(table_text(value))) for value in plain_column(column)]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _count(rows: int, shown: int) -> str:
    if rows == 0:
        return "no rows"
    if shown < rows:
        return f"{shown:,} of {rows:,} rows"
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def heading(number: str, console: Console, text: str = "") -> Text:
    """A line above a table: which statement it answers."""
    if not text:
        return Text.assemble(("── ", "dim"), (number, "bold"))
    room = min(console.width, 100) - len(number) - 6
    shown = text if cell_len(text) <= room else text[: max(0, room - 1)] + "…"
    return Text.assemble(("── ", "dim"), (number, "bold"), (" ── ", "dim"), (shown, "cyan"))
