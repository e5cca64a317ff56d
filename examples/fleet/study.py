"""Which cars are near each other? A fleet that sends functions, and what becomes of the answers when memory is short.

    python examples/fleet/study.py [--quick] [--seeds 1] [--area 10] [--pictures FOLDER]

Prints the tables of docs/studies/fleet.md; with --pictures it writes the pictures, too. No Spark is started.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

# Pictures are drawn as for the other study.
sys.path.append(str(Path(__file__).parents[1] / "rfid"))

from experiments import (
    LIMIT,
    LIMITS,
    OBJECTS,
    POLICIES,
    WINDOWS,
    Accuracy,
    Buffered,
    accuracy,
    messages,
    policies,
    smaller,
)
from pictures import Curve, Panel, draw
from quality import Score
from simulator import BUSY, Scenario

COLOURS = {"unlimited": "#666666", "min-c": "#1f77b4", "oldest": "#2e7d32", "random": "#c2410c", "if-full": "#7b3fa0"}
BY_PREDICTOR = {"linear": "#1f77b4", "Holt": "#2e7d32", "Kalman": "#c2410c", "none": "#666666"}
DELAY = 2.0
Cases = dict[tuple[str, int, int], Buffered]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Which cars are near each other? A study of streams of functions.")
    parser.add_argument("--quick", action="store_true", help="fewer objects in a smaller area, one seed, fewer windows")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 1 … for the policies of the buffer")
    parser.add_argument("--area", type=float, default=10.0, help="square kilometres")
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    options = parser.parse_args(arguments)
    table, busy = replace(Scenario(), area=options.area * 1e6), replace(BUSY, area=options.area * 1e6)
    show_messages(table, busy)
    objects, seeds, windows, limit, limits = OBJECTS, range(1, options.seeds + 1), WINDOWS, LIMIT, LIMITS
    if options.quick:
        objects, seeds, windows = (50, 100), range(1, 2), (1, 3, 5)
        busy, limit, limits = smaller(busy, 60), 65, (61, 65, 80, 120)
    by_objects = {count: accuracy(replace(table, objects=count), 1) for count in objects}
    show_accuracy(by_objects)
    in_time = policies(busy, seeds, windows, (limit,))
    show_policies(in_time, f"{busy.objects} objects, {limit} tuples")
    late = policies(busy, seeds, windows, (limit,), DELAY)
    show_policies(late, f"the same, updates up to {DELAY:g} s late")
    show_limits(policies(busy, seeds, (3, windows[-1]), limits, names=("min-c", "oldest")))
    if options.pictures is not None:
        write_pictures(options.pictures, by_objects, in_time, late)


def show_messages(table: Scenario, busy: Scenario) -> None:
    print("messages for 300 objects, and the share of samples that need none")
    cases = {"Table 1": table, "Table 1, noise 5 m": replace(table, noise=5.0)}
    cases |= {"1 s samples": busy, "1 s samples, noise 5 m": replace(busy, noise=5.0)}
    for title, scenario in cases.items():
        for name, one in messages(replace(scenario, objects=300), 1).items():
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in one.reasons.items())
            print(f"  {title:<23} {name:<7} {one.sent:>7,} of {one.samples:,}  {one.saved:>6.1%}   {reasons}")
            title = ""
    print()


def show_accuracy(by_objects: dict[int, dict[str, Accuracy]]) -> None:
    print("precision / recall / F by number of objects: against last samples, those of now alone, real places")
    print("  " + " ".join([f"{'':<7}", *(f"{count:^19}" for count in by_objects)]))
    for name in next(iter(by_objects.values())):
        for title, figure in ((name, "score"), ("  now", "now"), ("  real", "real")):
            cells = (_cell(getattr(found[name], figure)) for found in by_objects.values())
            print("  " + " ".join([f"{title:<7}", *cells]))
    print("  " + " ".join([f"{'sent':<7}", *(f"{found['linear'].sent:^19,}" for found in by_objects.values())]))
    print()


def _cell(score: Score) -> str:
    return f"{score.precision:.3f}/{score.recall:.3f}/{score.f:.3f}"


def show_policies(cases: Cases, title: str) -> None:
    windows = sorted({window for _, window, _ in cases})
    found = {name: [one for (n, _, _), one in cases.items() if n == name] for name in POLICIES}
    for truth, figure in (("last samples", "score"), ("those of now alone", "now")):
        print(f"precision / recall / F against {truth}, by window in seconds: {title}")
        print("  " + " ".join([f"{'':<10}", *(f"{window:^19}" for window in windows)]))
        for name, row in found.items():
            print("  " + " ".join([f"{name:<10}", *(_cell(getattr(one, figure)) for one in row)]))
        both = zip(found["unlimited"], found["min-c"], strict=True)
        lost = [getattr(best, figure).f - getattr(one, figure).f for best, one in both]
        print("  " + " ".join([f"{'F lost':<10}", *(f"{loss:^19.2%}" for loss in lost)]))
    print("  " + " ".join([f"{'held':<10}", *(f"{one.held:^19.0f}" for one in found["unlimited"])]))
    print()


def show_limits(cases: Cases) -> None:
    print("F by limit")
    limits = sorted({limit for _, _, limit in cases})
    print("  " + " ".join([f"{'':<22}", *(f"{limit:>7}" for limit in limits)]))
    for name, window in dict.fromkeys((name, window) for name, window, _ in cases):
        cells = (f"{cases[name, window, limit].score.f:>7.3f}" for limit in limits)
        print("  " + " ".join([f"{f'{name}, window {window} s':<22}", *cells]))


# -- pictures -------------------------------------------------------------------------------------------------


def write_pictures(folder: Path, by_objects: dict[int, dict[str, Accuracy]], in_time: Cases, late: Cases) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "fleet-policies.svg": draw("Four policies for a full buffer, by window", by_window(in_time, late)),
        "fleet-predictors.svg": draw("Accuracy and messages, by number of objects", by_count(by_objects)),
    }
    for name, text in pictures.items():
        (folder / name).write_text(text)


def by_window(in_time: Cases, late: Cases) -> list[Panel]:
    windows = sorted({window for _, window, _ in in_time})
    panels = []
    for cases, figure, title, ticks in (
        (in_time, "recall", "Recall", _up_to_one(0.0, 0.2)),
        (late, "recall", f"Recall, updates up to {DELAY:g} s late", _up_to_one(0.0, 0.2)),
        (in_time, "precision", "Precision", _up_to_one(min(one.score.precision for one in in_time.values()), 0.05)),
    ):
        curves = []
        for name, colour in COLOURS.items():
            points = [(float(w), float(getattr(one.score, figure))) for (n, w, _), one in cases.items() if n == name]
            curves.append(Curve(name, points, colour, dashed=name == "unlimited"))
        panels.append(Panel(title, "window, seconds", windows, ticks, curves))
    return panels


def by_count(by_objects: dict[int, dict[str, Accuracy]]) -> list[Panel]:
    most = max(one.sent for found in by_objects.values() for one in found.values())
    least = min(min(one.score.f, one.real.f) for found in by_objects.values() for one in found.values())
    ticks = [*by_objects]
    panels = []
    for title, figure, y_ticks in (
        ("F against the last samples", lambda one: one.score.f, _up_to_one(least, 0.02)),
        ("F against where they are", lambda one: one.real.f, _up_to_one(least, 0.02)),
        ("Messages, thousands", lambda one: one.sent / 1000, range(0, most // 1000 + 11, 10)),
    ):
        curves = []
        for name, colour in BY_PREDICTOR.items():
            points = [(float(count), float(figure(found[name]))) for count, found in by_objects.items()]
            curves.append(Curve(name, points, colour, dashed=name == "none"))
        panels.append(Panel(title, "objects", ticks, y_ticks, curves))
    return panels


def _up_to_one(least: float, step: float) -> list[float]:
    """Ticks from below the least value on."""
    return [round(1 - i * step, 2) for i in range(math.ceil(round((1 - least) / step, 9)), -1, -1)]


if __name__ == "__main__":
    main()
