"""A ten-line file from the shell: `presage query` with a window, against a bare PySpark script that shows the file.

Both as processes of their own, from start to exit, interleaved, the minimum of seven of each. The bare script is what
one would write: a local session, `spark.read.json`, `show()`. Run as: python benchmarks/query_startup.py [runs]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from interleaved import ROUNDS, minima, report

MOST = 0.15
BARE = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.read.json(sys.argv[1]).show()
"""
QUERY = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym;
"""


def write_files(folder: Path) -> None:
    ticks = [{"sym": "ab"[i % 2], "price": 10.0 + i, "at": f"2024-03-01T09:00:{i:02d}Z"} for i in range(10)]
    (folder / "ticks.jsonl").write_text("".join(json.dumps(tick) + "\n" for tick in ticks))
    (folder / "bare.py").write_text(BARE)
    (folder / "query.epl").write_text(QUERY)


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode or "09:00:09" not in done.stdout:
        raise SystemExit(f"{command} failed:\n{done.stdout}\n{done.stderr}")


def environment() -> dict[str, str]:
    # Both get what a clean machine has: a name for the loopback, this Python for the workers, compiled bytecode.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        bare = [sys.executable, "bare.py", "ticks.jsonl"]
        ours = [sys.executable, "-m", "presage.cli", "query", "query.epl", "--events", "Tick=ticks.jsonl"]
        best = minima({"bare PySpark": lambda: run(bare, folder), "presage query": lambda: run(ours, folder)}, runs)
    report("ten lines from the shell, from start to exit", best, "bare PySpark", MOST)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
