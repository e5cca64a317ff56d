"""Who had coffee? People in a building, antennas that miss a third, and questions to what can be inferred from them.

    python examples/rfid/study.py [--quick] [--people 20] [--minutes 20] [--seed 1] [--spacing 2] [--days 20]
        [--real-time] [--pictures FOLDER]

--days tells the quality over so many seeds with its spread, and --pictures then writes the picture of real time.
Prints the tables of docs/studies/rfid.md; with --pictures it writes the pictures, too. No Spark is started.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from building import Building, two_floors
from experiments import (
    METHODS,
    SUBGOALS,
    THRESHOLDS,
    TOLERANCES,
    Churn,
    InRoom,
    Quality,
    churn,
    in_room,
    pruning,
    quality,
    some_of,
    speed,
    subgoals,
)
from pictures import Curve, Panel, draw
from quality import Score
from simulator import Traces, simulate

REAL_TIME = ("filtered", "particles", "multinomial", "MLE", "particles, MLE", "multinomial, MLE")
REAL_TIME_PICTURE = "rfid-real-time.svg"
ARCHIVED = ("smoothed, Markov", "smoothed, independent", "MAP")
COLOURS = ("#1f77b4", "#2e7d32", "#c2410c", "#7b3fa0")
# A method and its most likely place have one colour.
REAL_TIME_COLOURS = (*COLOURS[:3], *COLOURS[:3])
AFEW = 5  # people for the cost of subgoals


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Who had coffee? A study of questions to uncertain streams.")
    parser.add_argument("--people", type=int)
    parser.add_argument("--minutes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spacing", type=int, default=2, help="segments of the hallway to an antenna")
    parser.add_argument(
        "--days", type=int, help="quality alone, for so many seeds, with thresholds from the other days"
    )
    parser.add_argument("--real-time", action="store_true", help="with --days: the methods of real time alone")
    parser.add_argument("--quick", action="store_true", help="8 people for 5 minutes, quality alone")
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    options = parser.parse_args(arguments)
    people = options.people or (8 if options.quick else 20)
    minutes = options.minutes or (5 if options.quick else 20)
    building = two_floors(options.spacing)
    if options.days is not None:
        seeds = range(options.seed, options.seed + options.days)
        names = REAL_TIME if options.real_time else tuple(METHODS)
        days = [quality(building, simulate(building, people, minutes * 60, seed), names) for seed in seeds]
        show_days(days)
        show_real_time(days)
        if options.pictures is not None:
            write_picture(options.pictures, REAL_TIME_PICTURE, real_time(days))
        return
    traces = simulate(building, people, minutes * 60, options.seed)
    events = sum(map(len, traces.coffees.values()))
    print(f"{people} people, {minutes} min, {traces.readings.num_rows:,} readings, {events} coffees\n")
    found = quality(building, traces)
    show_quality(found)
    show_tolerances(found)
    show_churn(churn(building, traces))
    room = in_room(building, options.seed)
    show_room(room)
    if not options.quick:
        show_costs(building, traces)
    if options.pictures is not None:
        write_pictures(options.pictures, found, room)


def show_quality(found: dict[str, Quality]) -> None:
    for single, title in ((True, "each run of seconds is a detection"), (False, "each row is a detection")):
        print(f"precision / recall / F1, within 30 s: {title}")
        print("  " + " ".join([f"{'threshold':<22}", *(f"{threshold:^14.2f}" for threshold in THRESHOLDS)]))
        for name, one in found.items():
            scores = [
                one.score(threshold, single=single) for threshold in (THRESHOLDS[:1] if one.method.by else THRESHOLDS)
            ]
            print("  " + " ".join([f"{name:<22}", *map(_cell, scores)]))
        print()


def _cell(score: Score) -> str:
    precision = f"{score.precision:.2f}" if score.found else " -- "
    return f"{precision}/{score.recall:.2f}/{score.f1:.2f}"


def best_of(days: Sequence[Quality], single: bool) -> float:
    return max(THRESHOLDS, key=lambda threshold: sum(day.score(threshold, single=single).f1 for day in days))


def show_days(days: Sequence[dict[str, Quality]]) -> None:
    """Thresholds are chosen on other days than the one that they are tried on."""
    for single, title in ((True, "each run of seconds is a detection"), (False, "each row is a detection")):
        print(f"F1 by day, within 30 s: {title}")
        for name in days[0]:
            scores = []
            for day in days:
                threshold = best_of([other[name] for other in days if other is not day], single)
                scores.append(day[name].score(threshold, single=single))
            means = [sum(getattr(s, figure) for s in scores) / len(scores) for figure in ("precision", "recall", "f1")]
            spread = statistics.stdev([s.f1 for s in scores]) if len(scores) > 1 else 0.0
            told = "{:.2f}/{:.2f}/{:.2f}".format(*means)
            print(
                f"  {name:<22} mean {told}, F1 from {min(s.f1 for s in scores):.2f} to "
                f"{max(s.f1 for s in scores):.2f}, standard deviation {spread:.2f}"
            )
        print()


def show_real_time(days: Sequence[dict[str, Quality]]) -> None:
    """Each method in real time against the most likely place by the same belief, day by day, at each threshold."""
    for single, title in ((True, "each run of seconds is a detection"), (False, "each row is a detection")):
        print(f"points more than MLE of the same belief, mean ± standard deviation of {len(days)} days: {title}")
        for name in REAL_TIME[:3]:
            rival = "MLE" if name == "filtered" else f"{name}, MLE"
            for figure in ("precision", "recall", "f1"):
                cells = []
                for threshold in THRESHOLDS[1:8]:
                    # A day on which nothing is found has no precision.
                    pairs = [
                        (d[name].score(threshold, single=single), d[rival].score(0.0, single=single)) for d in days
                    ]
                    gains = [100 * (getattr(a, figure) - getattr(b, figure)) for a, b in pairs if a.found]
                    spread = statistics.stdev(gains) if len(gains) > 1 else 0.0
                    told = f"{statistics.mean(gains):+.0f} ± {spread:.0f}" if gains else "--"
                    cells.append(f"{threshold:.2f}: {told:<9}")
                print("  " + " ".join([f"{name:<12} {figure:<9}", *cells]))
        print()


def show_tolerances(found: dict[str, Quality]) -> None:
    print("F1 by tolerance, each at its best threshold for 30 s")
    print("  " + " ".join([f"{'seconds':<22} {'':>9}", *(f"{tolerance:>5}" for tolerance in TOLERANCES)]))
    for name, one in found.items():
        best = one.best()
        cells = (f"{one.score(best, tolerance).f1:>5.2f}" for tolerance in TOLERANCES)
        print("  " + " ".join([f"{name:<22} {'' if one.method.by else f'p > {best:.2f}':>9}", *cells]))
    print()


def show_churn(found: Churn) -> None:
    print(f"filtered: {found.false:,} false rows from 0.02 to 0.148, {found.steady:,} of them with a steady belief;")
    print(f"  no answer above {found.highest:.2f}")
    if len(found.rises):
        median, most = np.median(found.rises), found.rises.max()
        print(f"  belief rises in a second by at most {median:.2f} (median of the coffees), {most:.2f} (of all)")
    print()


def show_room(room: InRoom) -> None:
    print("in a room for k seconds: the highest probability during the visit")
    print("  " + " ".join([f"{'k':<22}", *(f"{k:>7}" for k in SUBGOALS)]))
    for name in room.chances:
        print("  " + " ".join([f"{name:<22}", *(f"{room.peak(name, k):>7.4f}" for k in SUBGOALS)]))
    print()


def show_costs(building: Building, traces: Traces) -> None:
    print("tables without entries below …")
    print(f"  {'':>7} {'rows':>10} {'archived':>10} {'best F1':>8} {'differs by':>11}")
    for one in pruning(building, traces):
        f1 = one.quality.score(one.quality.best()).f1
        print(f"  {one.prune:>7} {one.rows:>10,} {one.megabytes:>7.1f} MB {f1:>8.2f} {one.off:>11.4f}")
    print("\neffective objects a second, from the archive to durable rows")
    print(f"  {'':<17} {'':<17} {'rows':>10} {'took':>8} {'rows/s':>10} {'objects/s':>10}")
    for case in speed(building, traces):
        rate, took = case.rows / case.took, f"{case.took:.2f} s"
        print(
            f"  {case.question:<17} {case.method:<17} {case.rows:>10,} {took:>8} {rate:>10,.0f} {case.objects:>10,.0f}"
        )
    few = subgoals(building, some_of(traces, AFEW))
    print(f"\nseconds for a question of k subgoals about {few.people} people, {few.seconds:,} s of theirs")
    print("  " + " ".join([f"{'k':<22}", *(f"{k:>6}" for k in SUBGOALS)]))
    for name, took in few.took.items():
        print("  " + " ".join([f"{name:<22}", *(f"{took[k]:>6.2f}" for k in SUBGOALS)]))


# -- pictures -------------------------------------------------------------------------------------------------


def write_pictures(folder: Path, found: dict[str, Quality], room: InRoom) -> None:
    write_picture(folder, REAL_TIME_PICTURE, real_time([found]))
    archived = by_threshold([found], ARCHIVED, COLOURS)
    write_picture(folder, "rfid-archived.svg", draw("Archived: coffees found by threshold", archived))
    write_picture(folder, "rfid-room.svg", draw("In the room for k seconds", in_the_room(room)))


def write_picture(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def real_time(days: Sequence[dict[str, Quality]]) -> str:
    over = f", means of {len(days)} days and one standard deviation" if len(days) > 1 else ""
    panels = by_threshold(days, REAL_TIME, REAL_TIME_COLOURS)
    return draw(f"Real time: coffees found by threshold{over}", panels)


def by_threshold(days: Sequence[dict[str, Quality]], names: Sequence[str], colours: Sequence[str]) -> list[Panel]:
    ticks = [i / 10 for i in range(6)]
    panels = []
    for figure, title in (("precision", "Precision"), ("recall", "Recall"), ("f1", "F1")):
        curves = []
        for name, colour in zip(names, colours, strict=False):
            points, band = [], []
            for threshold in THRESHOLDS:
                # Where nothing is found there is no precision to speak of.
                scores = [day[name].score(threshold) for day in days]
                several = [float(getattr(score, figure)) for score in scores if score.found]
                if len(several) == len(days):
                    mean = statistics.mean(several)
                    spread = statistics.stdev(several) if len(days) > 1 else 0.0
                    points.append((threshold, mean))
                    band.append((threshold, max(mean - spread, 0.0), min(mean + spread, 1.0)))
            by = days[0][name].method.by
            curves.append(Curve(name, points, colour, bool(by), band if len(days) > 1 and not by else ()))
        panels.append(Panel(title, "threshold ρ", ticks, [i / 5 for i in range(6)], curves))
    return panels


def in_the_room(room: InRoom) -> list[Panel]:
    def curves(points: dict[str, list[tuple[float, float]]]) -> list[Curve]:
        return [
            Curve(name, points[name], colour, dashed=name == "MAP")
            for name, colour in zip(points, COLOURS, strict=True)
        ]

    seconds = {name: [(float(t), float(p)) for t, p in enumerate(by_k[3])] for name, by_k in room.chances.items()}
    peaks = {name: [(float(k), room.peak(name, k)) for k in by_k] for name, by_k in room.chances.items()}
    ticks = [0, 0.05, 0.1, 0.15, 0.2, 0.25]
    length = len(next(iter(seconds.values())))
    shaded = (float(room.first), float(room.last))
    return [
        Panel(
            "k = 3, second by second",
            "second (shaded: the visit)",
            range(0, length + 20, 20),
            ticks,
            curves(seconds),
            shaded,
        ),
        Panel("highest of the visit", "k", SUBGOALS, ticks, curves(peaks)),
    ]


if __name__ == "__main__":
    main()
