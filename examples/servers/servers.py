"""Is this normal for this server, and when did we see it before? A month of machine metrics, and the last day's alerts.

    python examples/servers/servers.py [--seed 1] [--servers 8] [--incidents 250] [--picture alert.svg]

Prints each incident of the last day that is out of its server's usual range of four weeks, and the five most similar
incidents of the past, with what was going on around them and what their cause turned out to be.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from picture import draw_alert
from simulator import Month, simulate

import presage

STATEMENTS = Path(__file__).with_name("servers.epl").read_text()
WINDOW = timedelta(minutes=5)  # as in servers.epl
Row = dict[str, Any]
Term = tuple[str, str]  # an attribute and its value


@dataclass(frozen=True)
class Alert:
    """An incident out of the usual range, and the past ones that were most like it."""

    server: str
    at: datetime
    usual: Row
    similar: list[Row]
    cause: str
    past_causes: list[str]
    around: frozenset[Term]  # what was there when it came

    @property
    def likely(self) -> str:
        """The cause of most of the similar ones."""
        return Counter(self.past_causes).most_common(1)[0][0] if self.past_causes else "never seen"


def alerts_of(month: Month, engine: presage.Engine) -> list[Alert]:
    *declared, normal, similar = (text for text in STATEMENTS.split(";") if text.strip())
    engine.execute(";".join(declared))
    for stream, rows in month.events.items():
        engine.load(stream, rows)
    past: dict[tuple[str, datetime], list[Row]] = {}
    for row in engine.query(similar):
        past.setdefault((row["server"], row["at"]), []).append(row)
    found = []
    for usual in engine.query(normal):
        event = (usual["server"], usual["at"])
        alike = [row for row in past.get(event, []) if row["seen"] is not None]
        causes = [month.causes[row["then_on"], row["seen"]] for row in alike]
        found.append(Alert(*event, usual, alike, month.causes[event], causes, _around(month, *event)))
    return found


def _around(month: Month, server: str, at: datetime) -> frozenset[Term]:
    """The processes and users of a server before a time, as the contexts have them."""
    streams = (("Running", "proc"), ("Login", "user"))
    return frozenset(
        (name, row[name])
        for stream, name in streams
        for row in month.events[stream]
        if row["server"] == server and at - WINDOW < row["at"] <= at
    )


def words(alert: Alert, past: Row) -> tuple[list[str], list[str]]:
    """What a past incident has in common with the alert, and what else was there then."""
    there = [(term["attribute"], term["value"]) for term in past["context"] if term["attribute"] != "free"]
    same = [value for name, value in there if (name, value) in alert.around]
    return same, [value for name, value in there if (name, value) not in alert.around]


def told(alert: Alert) -> str:
    usual = alert.usual
    lines = [
        f"{alert.at:%Y-%m-%d %H:%M}  {alert.server}  cpu {usual['cpu']:.0f} %",
        f"    usual: {usual['mean']:.0f} % ± {usual['sd']:.0f}, at most {usual['highest']:.0f} % in four weeks",
        f"    around it: {', '.join(value for _, value in sorted(alert.around))}",
    ]
    for row, cause in zip(alert.similar, alert.past_causes, strict=True):
        same, other = words(alert, row)
        said = f"{', '.join(same) or 'nothing'} as now" + (f"; then also {', '.join(other)}" if other else "")
        lines.append(
            f"    {row['rank']}. {row['similarity']:.2f}  {row['seen']:%m-%d %H:%M}  {row['then_on']}  {cause}: {said}"
        )
    return "\n".join([*lines, f"    likely: {alert.likely}; it was: {alert.cause}"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--incidents", type=int, default=250)
    parser.add_argument("--picture", type=Path)
    chosen = parser.parse_args(arguments)
    month = simulate(chosen.seed, chosen.servers, incidents=chosen.incidents)
    with presage.Engine() as engine:
        alerts = alerts_of(month, engine)
    for alert in alerts:
        print(told(alert))
    right = sum(alert.likely == alert.cause for alert in alerts)
    print(f"{len(alerts)} alerts; the likely cause was the true one in {right}")
    if chosen.picture is not None and alerts:
        alert = alerts[0]
        load = [row for row in month.events["Load"] if row["server"] == alert.server]
        chosen.picture.write_text(draw_alert(alert, load, [words(alert, row) for row in alert.similar]))


if __name__ == "__main__":
    main()
