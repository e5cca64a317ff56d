"""Tables of metrics for the terminal, with numbers, sizes and times as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from presage.cli.tables import UNLIMITED
from presage.cli.values import one_line
from presage.model.time import format_timestamp

LONGEST = 60  # characters of a text in a cell
TEXTS = frozenset(("state", "why", "last error", "watermark", "from", "to", "what", "where", "fix"))
WRAPPED = frozenset(("why", "what", "fix"))
STYLES = {"failed": "bold red", "waiting": "yellow", "catching up": "yellow", "running": "green"}


def section(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> RenderableType | None:
    """A titled table; the first `left` columns are texts, the others numbers unless a cell says otherwise."""
    return Group(Text(title, style="bold"), Rows(names, rows, left), Text("")) if rows else None


@dataclass(frozen=True)
class Rows:
    """A table, or in a window too narrow for it one figure per line: a number without its end says something else."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table()
        wanted = Measurement.get(console, options.update(max_width=UNLIMITED), table).minimum
        yield table if wanted <= options.max_width else self._records()

    def _table(self) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
        for number, name in enumerate(self.names):
            texts = number < self.left or name in TEXTS
            table.add_column(Text(name), justify="left" if texts else "right", no_wrap=name not in WRAPPED)
        for row in self.rows:
            table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
        return table

    def _records(self) -> Table:
        lines = Table(box=None, pad_edge=False, show_header=False)
        lines.add_column(style="dim", no_wrap=True)
        lines.add_column(overflow="fold")
        for row in self.rows:
            lines.add_row(Text(self.names[0]), Text(row[0], style="bold"))
            for name, cell in zip(self.names[1:], row[1:], strict=True):
                if cell:
                    lines.add_row(Text(f"  {name}"), Text(cell, style=STYLES.get(cell, "")))
        return lines


def show(console: Console, parts: Sequence[RenderableType | None]) -> None:
    """Print what there is, without the blanks that Rich fills lines with where no terminal needs them."""
    shown = Group(*(part for part in parts if part is not None))
    if console.is_terminal:
        console.print(shown)
        return
    with console.capture() as text:
        console.print(shown)
    console.file.write("".join(line.rstrip() + "\n" for line in text.get().splitlines()))


def count(value: float | None) -> str:
    return "" if value is None else f"{value:,}"


def rate(found: Mapping[str, Any], section: str, name: str, field: str) -> str:
    value = found.get(section, {}).get(name, {}).get(field)
    return "" if value is None else f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def size(value: float | None) -> str:
    """Bytes, with a unit."""
    if value is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def moment(seconds: float | None) -> str:
    """Seconds since 1970 as a time, to the second."""
    return "" if seconds is None else format_timestamp(int(seconds) * 1_000_000)


def short(text: str | None) -> str:
    line = one_line(" ".join((text or "").split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
