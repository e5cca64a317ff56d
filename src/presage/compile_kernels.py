"""Compiles the kernels of all operators into the user's folder: `python -m presage.compile_kernels [-j N]`.

Each process compiles one group of kernels after another. Two groups may both need a loop that all operators share: then
both compile it, and the later file takes the place of the equal, earlier one.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context

# Operator and function of its module `kernel.warm`; what takes longest comes first, so that no process ends late.
GROUPS = (
    ("epl", "warm"),
    ("match", "warm_searches"),
    ("sequence", "warm_safe"),
    ("sequence", "warm_hidden_markov"),
    ("sequence", "warm_worlds"),
    ("sequence", "warm_regular"),
    ("prediction", "warm"),
    ("match", "warm_measures"),
    ("windows", "warm"),
    ("recall", "warm"),
)


def compile_kernels(processes: int) -> None:
    """Compile what is not in the user's folder. Each process is started anew: what this one has loaded is no matter."""
    context = get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(GROUPS)), context, initializer=_leave_out_bundled) as pool:
        for done in as_completed([pool.submit(_compile, *group) for group in GROUPS]):
            done.result()


def processors() -> int:
    """Those that this process may use; not every system tells."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _leave_out_bundled() -> None:
    # They are for any processor; whoever compiles wants code for this one.
    from presage.arrays.kernel_cache import BundledKernels

    BundledKernels.wanted = False


def _compile(operator: str, function: str) -> None:
    getattr(import_module(f"presage.operators.{operator}.kernel.warm"), function)()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m presage.compile_kernels", description=__doc__)
    parser.add_argument(
        "-j", type=int, default=processors(), metavar="N", help="processes; one for each core if left out"
    )
    compile_kernels(max(1, parser.parse_args(arguments).j))


if __name__ == "__main__":
    main(sys.argv[1:])
