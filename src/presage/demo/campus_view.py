"""The terminal view of the campus demonstration: an introduction, a table that lives, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from presage.cli.progress import Progress
from presage.cli.tables import heading
from presage.cli.values import table_text

if TYPE_CHECKING:
    from presage.console.gate import Gate
    from presage.demo.campus import Course
    from presage.engine import Engine

# Of a row only what it says: when, and what a recall has read, has its place elsewhere.
LEFT_OUT = {
    "at",
    "event_id",
    "covered_from",
    "covered_to",
    "revision",
    "change",
    "extrapolated",
    "valid_from",
    "valid_to",
}
SHOWS_A_SECOND = 4
GAP = 3  # between columns


class CampusView:
    """`kinds`: of each statement its kind and what it asks."""

    def __init__(self, console: Console, kinds: Mapping[str, tuple[str, str]]) -> None:
        self._console = console
        self._kinds = kinds
        self._newest: dict[str, Mapping[str, Any]] = {}
        self._engine: Engine | None = None
        self._live: Live | None = None
        self._gate: Gate | None = None

    def introduce(self, course: Course, buildings: int, address: str | None, gate: Gate | None) -> None:
        say, self._gate = self._console.print, gate
        say(heading("A campus that lives", self._console))
        what = (
            f"{course.sensors:,} sensors in {buildings} buildings, people with badges, carts that tell where they go."
        )
        say(Text(f"{what}\nOne language asks for what was, what is and what is likely:\n"))
        for kind, told in self._kinds.values():
            say(Text.assemble((f"  {kind:<16}", "bold"), told))
        say()
        if address is not None:
            say(Text.assemble("The console is at ", (address, "cyan"), "\n"), soft_wrap=True)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """While something takes its time: a line here if it takes long, and one in the console."""
        if self._gate is not None:
            self._gate.doing = what
        with Progress(what):
            yield
        if self._gate is not None:
            self._gate.doing = None

    def step(self, course: Course, what: str) -> None:
        self._console.print(Text.assemble((f"{course.seconds:5.1f} s  ", "dim"), what))

    @contextmanager
    def following(self, engine: Engine) -> Iterator[None]:
        """Keep the newest row of each statement, and a table of them on a terminal."""
        self._engine = engine
        subscribed = []
        for name, deployment in engine.deployments.items():
            keep = lambda row, name=name: self._newest.__setitem__(name, row)  # noqa: E731
            subscribed.append(deployment.subscribe(keep, after=deployment.status.rows_out))
        try:
            if self._console.is_terminal:
                with Live(console=self._console, refresh_per_second=SHOWS_A_SECOND, transient=True) as self._live:
                    yield
            else:
                yield
        finally:
            self._live = None
            for each in subscribed:
                each.cancel()

    def show(self, course: Course, seconds: float) -> None:
        """Bring the table up to date."""
        if self._live is None:
            return
        rate = course.events / max(course.live_seconds, 1e-9)
        line = f"\n{course.moment} on the campus   {course.events:,} events, {rate:,.0f} a second   "
        bar = Table.grid()
        bar.add_row(Text(line), ProgressBar(total=seconds, completed=course.live_seconds, width=30))
        self._live.update(Group(bar, self._table(), Text("Ctrl-C ends it", style="dim")))

    def interrupted(self) -> None:
        self._console.print(Text("interrupted", style="dim"))

    def summarize(self, engine: Engine, course: Course) -> None:
        self._engine = engine
        say = self._console.print
        say()
        say(heading("What was found", self._console))
        say(self._table())
        spent = max(course.live_seconds, 1e-9)
        past = f"{course.history:,} events of the day before, then {course.minutes} minutes in {spent:.0f} s:"
        rate = f"{course.events:,} events, {course.events / spent:,.0f} a second"
        say(Text(f"{past} {rate}, for {len(engine.deployments)} statements.\n"))
        for what, command in (
            ("the same in the browser, for ten minutes", "presage demo campus --serve --for 600"),
            ("the whole campus of the paper", "presage demo campus --sensors 50000"),
            ("a small campus, asked in the words of its ontology", "presage demo knowledge"),
        ):
            say(Text.assemble((f"# {what}\n", "dim"), (command, "cyan")), soft_wrap=True)
        say()
        say(Text(f"The demonstration took {course.seconds:.0f} s.", style="dim"))

    def _table(self) -> Table:
        assert self._engine is not None
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        # As wide as they may become: the table must not jump about, and only the newest row is cut.
        kinds, names = max(len(kind) for kind, _ in self._kinds.values()), max(map(len, self._kinds))
        widths = {"kind": kinds, "statement": names, "state": len("catching up"), "rows": len("100,000")}
        for name, width in widths.items():
            table.add_column(name, no_wrap=True, width=width, justify="right" if name == "rows" else "left")
        left = self._console.width - sum(widths.values()) - GAP * len(widths)
        table.add_column("the newest", no_wrap=True, overflow="ellipsis", width=max(10, left))
        for name, deployment in self._engine.deployments.items():
            status = deployment.status
            state = Text(status.state, style={"failed": "red", "finished": "dim"}.get(status.state, "green"))
            newest = _told(self._newest.get(name, {})) if status.last_error is None else status.last_error
            table.add_row(self._kinds[name][0], name, state, f"{status.rows_out:,}", Text(newest))
        return table


def _told(row: Mapping[str, Any]) -> str:
    return "  ".join(
        f"{name} {_short(value)}" for name, value in row.items() if name not in LEFT_OUT and value is not None
    )


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"
    if isinstance(value, datetime):
        return f"{value:%m-%d %H:%M}"
    # Of what an ontology calls a thing, its own name says enough.
    return table_text(value).rpartition("#")[2]
