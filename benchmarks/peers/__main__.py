"""2,000,000 ticks of 1,000 symbols through `PATTERN (STRT DOWN{3,} UP)`: Presage, Flink SQL and Esper in one run.

Flink reads a CSV file with 2 slots, in batch and in streaming mode, and drops the matches. Esper runs in one thread and
is sent events that were parsed beforehand. Presage reads its archive, as loaded and as old chunks, and for comparison
the CSV file. One unmeasured round checks the matches of all; then they take turns, and the minimum of each counts.
Run in the folder `benchmarks` as: python -m peers [ticks]; exit code 1 if a limit is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from interleaved import ROUNDS
from ticks import ROWS, count_matches, make_ticks

from peers import ours
from peers.install import clean_environment, esper_classpath, flink_python, java
from peers.resident import Resident
from presage import Engine

FLINK_ROUNDS = 3
TIMES_FLINK, TIMES_ESPER = 25.0, 1.0
LOADED, OLD, CSV = "Presage, files as loaded", "Presage, old chunks", "Presage, DataFrame of the CSV file"
BATCH, STREAMING, ESPER = "Flink SQL, batch", "Flink SQL, streaming", "Esper, one thread"
EPL = """select * from Tick match_recognize (
  partition by sym
  measures STRT.sym as sym, STRT.price as start_price, last(DOWN.price) as bottom, UP.price as end_price
  after match skip past last row
  pattern (STRT DOWN{3,} UP)
  define DOWN as DOWN.price < prev(DOWN.price), UP as UP.price > prev(UP.price)
)"""


class Contestant(NamedTuple):
    """`check` is the unmeasured round. Where a measured run cannot count, it says None instead of its matches."""

    check: Callable[[], tuple[float, int | None]]
    run: Callable[[], tuple[float, int | None]]
    rounds: int = ROUNDS


def write_csv(ticks: pa.Table, path: Path) -> None:
    written = pc.strftime(ticks["at"].cast(pa.timestamp("ms")), "%Y-%m-%d %H:%M:%S")
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(ticks.set_column(2, "at", written), path, options)


def line_up(ticks: pa.Table, folder: Path, stack: ExitStack) -> dict[str, Contestant]:
    csv = folder / "ticks.csv"
    write_csv(ticks, csv)
    environment = clean_environment()
    flink_peer = Path(__file__).with_name("flink_peer.py")
    flink = stack.enter_context(Resident([flink_python(), flink_peer, str(csv)], environment))
    esper = stack.enter_context(Resident([java(), "-cp", esper_classpath(), "EsperPeer", str(csv), EPL], environment))
    loaded = stack.enter_context(Engine(home=folder / "loaded"))
    old = stack.enter_context(Engine(loaded.spark, home=folder / "old"))
    ours.load(loaded, ticks, old=False)
    ours.load(old, ticks, old=True)
    for resident in (flink, esper):
        resident.wait_until_ready()

    def alike(run: Callable[[], tuple[float, int | None]]) -> Contestant:
        return Contestant(run, run)

    def of_flink(mode: str) -> Contestant:
        return Contestant(partial(flink.ask, f"{mode} count"), partial(flink.ask, f"{mode} run"), FLINK_ROUNDS)

    return {
        LOADED: alike(partial(ours.run_query, loaded)),
        OLD: alike(partial(ours.run_query, old)),
        CSV: alike(partial(ours.run_frame, loaded, csv)),
        ESPER: alike(esper.ask),
        BATCH: of_flink("batch"),
        STREAMING: of_flink("streaming"),
    }


def compete(contestants: dict[str, Contestant], matches: int) -> dict[str, float]:
    """Seconds of each, the minimum over its rounds."""
    best = dict.fromkeys(contestants, float("inf"))
    for number in range(1 + max(contestant.rounds for contestant in contestants.values())):
        for name, contestant in contestants.items():
            if number > contestant.rounds:
                continue
            seconds, found = contestant.run() if number else contestant.check()
            if found != matches and not (number and found is None):
                raise AssertionError(f"{name}: {found} matches instead of {matches}")
            if number:
                best[name] = min(best[name], seconds)
    return best


def report(best: dict[str, float], rows: int) -> bool:
    """The table; whether the limits are kept."""
    print(f"{'':<36} {'seconds':>8} {'events/s':>12} {'x loaded':>9} {'x old':>8}")
    for name, seconds in best.items():
        against = f"{seconds / best[LOADED]:9.2f} {seconds / best[OLD]:8.2f}"
        print(f"{name:<36} {seconds:8.3f} {rows / seconds:12,.0f} {against}")
    rivals = (
        ("Flink SQL in its better mode", min(best[BATCH], best[STREAMING]), TIMES_FLINK),
        ("Esper", best[ESPER], TIMES_ESPER),
    )
    kept = True
    for name in (LOADED, OLD):
        for rival, seconds, limit in rivals:
            ratio = seconds / best[name]
            verdict = "kept" if ratio >= limit else "MISSED"
            print(f"{name}: {ratio:.2f} times as fast as {rival} (at least {limit:g}: {verdict})")
            kept &= ratio >= limit
    return kept


def main(rows: int = ROWS) -> None:
    ticks = make_ticks(rows)
    matches = count_matches(ticks)
    print(f"{rows:,} ticks, {matches:,} matches, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        best = compete(line_up(ticks, Path(folder), stack), matches)
    sys.exit(0 if report(best, rows) else 1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
