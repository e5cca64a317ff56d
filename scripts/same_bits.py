"""Compares the kernels of a wheel with those for this processor, bit for bit, on random inputs (`make kernels`).

Both run the property tests of the kernels with the same seed, and the warm functions. Every call of a loop is compared
by its arguments. A call whose own repetition differs is left out: its result has memory that nobody reads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from wheel import ANY_PROCESSOR, BUILT

from presage.arrays.kernel_folders import VARIABLE

ROOT = Path(__file__).parents[1]
# Of tests/property: what asks kernels directly.
TESTS = (
    *("window_aggregates", "window_distinct", "window_joins", "window_output", "window_touched"),
    *("pattern_laws", "match_laws", "measures"),
    *("sequence_kernels", "inference_laws", "small_probabilities"),
    *("predictions", "prediction_boundaries", "prediction_buffer", "prediction_chances", "prediction_versions"),
    "similar_contexts",
)

SEED = os.environ.get("SEED", "1")
EXAMPLES = os.environ.get("EXAMPLES", "20")

Calls = dict[tuple[str, str], set[str]]  # loop, arguments: what it gave


def record(into: Path, environment: dict[str, str]) -> Calls:
    """The calls of two runs."""
    files = [f"tests/property/test_{name}.py" for name in TESTS] + ["tests/kernels/test_warm_loops.py"]
    plain = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "record_loops", "-p", "no:cacheprovider"]
    command = [*plain, "-m", "not spark and not soak", f"--hypothesis-seed={SEED}", *files]
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    own |= {"HYPOTHESIS_PROFILE": "soak", "SOAK_EXAMPLES": EXAMPLES, "RECORDED_LOOPS": str(into)}
    own["PYTHONPATH"] = os.pathsep.join([str(ROOT / "scripts"), own.get("PYTHONPATH", "")])
    for _ in range(2):
        subprocess.run(command, cwd=ROOT, check=True, env=own | environment, stdout=subprocess.DEVNULL)
    calls: Calls = defaultdict(set)
    for line in into.read_text().splitlines():
        loop, before, after = line.split()
        calls[loop, before].add(after)
    return calls


def main() -> int:
    from presage.arrays.jit import LOOPS

    with TemporaryDirectory() as folder:
        native = record(Path(folder) / "native", {})
        wheel = record(Path(folder) / "wheel", ANY_PROCESSOR | {VARIABLE: str(BUILT)})
    both = native.keys() & wheel.keys()
    steady = {call for call in both if len(native[call]) == len(wheel[call]) == 1}
    different = {call for call in steady if native[call] != wheel[call]}
    loops = {loop for loop, _ in steady}
    print(f"{len(steady)} calls of {len(loops)} loops compared, {len(both) - len(steady)} left out")
    print(f"loops that were not called: {', '.join(sorted(LOOPS.keys() - loops)) or 'none'}")
    for loop in sorted({loop for loop, _ in different}):
        print(f"different: {loop} in {sum(name == loop for name, _ in different)} calls")
    return 1 if different or not steady else 0


if __name__ == "__main__":
    sys.exit(main())
