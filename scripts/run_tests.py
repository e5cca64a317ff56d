"""The whole test suite, in two processes side by side: what needs no Spark, as it goes, then what needs it.

Run as `python scripts/run_tests.py`; further arguments go to both.
"""

from __future__ import annotations

import subprocess
import sys

SHOWN, KEPT = "not spark", "spark"


def command(part: str, arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-m", part, *arguments]


def main(arguments: list[str]) -> int:
    with subprocess.Popen(
        command(KEPT, arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as beside:
        shown = subprocess.run(command(SHOWN, arguments), stdin=subprocess.DEVNULL, check=False)
        output, _ = beside.communicate()
    print(f"\n-- tests that need Spark --\n{output}", flush=True)
    return max(shown.returncode, beside.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
