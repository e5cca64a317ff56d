"""Rivals in turn (ABAB…), the minimum of each: the only honest clock on a machine that does other things too."""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 7


def minima(
    rivals: dict[str, Callable[[], object]], rounds: int = ROUNDS, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Seconds of each rival, the minimum over the rounds; one unmeasured round warms everything up."""
    best = {name: float("inf") for name in rivals}
    for round_number in range(rounds + 1):
        for name, work in rivals.items():
            start = clock()
            work()
            if round_number:
                best[name] = min(best[name], clock() - start)
    return best


def report(title: str, best: dict[str, float], floor: str, limit: float | None = None) -> None:
    """One line per rival with its ratio to the floor."""
    print(title)
    for name, seconds in best.items():
        ratio = seconds / best[floor]
        verdict = f"   (limit {limit:g})" if limit is not None and name != floor else ""
        print(f"  {name:<44} {seconds:8.3f} s   {ratio:6.2f} x{verdict}")
