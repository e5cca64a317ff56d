"""Tables of results for the terminal: wide rows become records, long tables are cut with a note."""

from __future__ import annotations

import sys

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from presage.cli.values import one_line, table_text
from presage.model.json_values import plain_column

# The longest text that a cell shows, and the least width at which a column is still worth having.
LONGEST = 200
NARROWEST = 8
GAP = 3  # between columns
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
    room = console.width - GAP * (len(names) - 1)
    # Only texts are shortened: a number or a time without its end says something else.
    least = [min(w, NARROWEST) if _is_text(c) else w for w, c in zip(widths, table.columns, strict=True)]
    if shown.num_rows and room < sum(least):
        _write_records(names, columns, console)
    else:
        _write_grid(table, names, columns, _fitted(widths, least, room), console)
    count = remark.format(_count(table.num_rows, shown.num_rows))
    console.print(Text(count, style="dim"), no_wrap=True, overflow="ellipsis")


def _fitted(widths: list[int], least: list[int], room: int) -> list[int]:
    """Widths that fit: the widest shrink first, none below its least."""
    widest = max(widths, default=1)
    fitted = widths
    while widest > 1 and sum(fitted) > room:
        widest -= 1
        fitted = [max(low, min(width, widest)) for width, low in zip(widths, least, strict=True)]
    return fitted


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_nested(column.type))


def _write_grid(
    table: pa.Table, names: list[str], columns: list[list[Text]], widths: list[int], console: Console
) -> None:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for name, column, width in zip(names, table.columns, widths, strict=True):
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        right = any(is_kind(column.type) for is_kind in kinds)
        justify: JustifyMethod = "right" if right else "left"
        grid.add_column(Text(name), justify=justify, width=width, no_wrap=True, overflow="ellipsis")
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
    room = min(console.width, 100) - len(number) - 7
    shown = text if cell_len(text) <= room else text[: max(0, room - 1)] + "…"
    return Text.assemble(("── ", "dim"), (number, "bold"), (" ── ", "dim"), (shown, "cyan"))
