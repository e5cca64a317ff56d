"""The command `presage`, with one module per command."""

from __future__ import annotations

import atexit
import gc
import os
import sys

__all__ = ["main"]

# Loading makes up to 450,000 objects and no garbage. With Python's threshold of 700 they are searched 400 times.
OBJECTS_OF_LOADING, OBJECTS_PER_COLLECTION = 1_000_000, 50_000


def main() -> int:
    """Entry point of the console script: 0 fine, 1 an error in query or data, 2 wrong usage, 3 the home
    has a problem, 130 interrupted."""
    gc.set_threshold(OBJECTS_OF_LOADING)
    gc.callbacks.append(_collect_from_now_on)
    # The collection at exit would free every object of a process that ends: a fifth of a small query's time.
    atexit.register(gc.freeze)
    # No kernel multiplies matrices, and the threads of NumPy's library for that spin for a while when they start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from presage.cli.failures import INTERRUPTED, end_output

    if sys.stdout is None or sys.stderr is None:
        # Closed by the shell (`>&-`): what is written there is lost, as the user wants it.
        lost = open(os.devnull, "w")  # noqa: SIM115  it serves until the process ends
        sys.stdout, sys.stderr = sys.stdout or lost, sys.stderr or lost
    try:
        code = _run(sys.argv[1:])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = INTERRUPTED
    return end_output(code)


def _collect_from_now_on(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.callbacks.remove(_collect_from_now_on)
        gc.set_threshold(OBJECTS_PER_COLLECTION)


def _run(arguments: list[str]) -> int:
    if os.environ.get("PRESAGE_EXTENSIONS"):
        from presage.functions.extension import load_extensions

        load_extensions()
    from presage.cli.parameters import run_plainly

    if not run_plainly(arguments):
        from presage.cli.app import app

        app(prog_name="presage")
    return 0
