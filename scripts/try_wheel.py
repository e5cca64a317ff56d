"""Installs the wheel of dist/ into an environment of its own and asks a query there: no kernel may be compiled.

Spark's workers send no events of compilation; what they compile would be written into the user's folder. Then all
kernels of the wheel are run in one process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
COMPILED = """
import json, time
begin = time.perf_counter()
from numba.core import event

class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
"""
QUERY = f"""
{COMPILED}
import presage

rows = [{{"room": f"r{{i % 2}}", "celsius": float(i), "at": f"2024-03-01T09:{{i:02}}:00Z"}} for i in range(30)]
with presage.Engine() as engine:
    engine.execute("CREATE STREAM T (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at;")
    engine.load("T", rows)
    table = engine.query("SELECT room, avg(celsius) AS mean FROM T#time(10 min) GROUP BY room").to_arrow()
print(json.dumps([time.perf_counter() - begin, table.num_rows, Compiled.names]))
"""
EVERY = f"""
{COMPILED}
from importlib import import_module
for operator in ("windows", "epl", "match", "sequence", "prediction", "recall"):
    import_module(f"presage.operators.{{operator}}.kernel.warm").warm()
from presage.arrays.jit import LOOPS
print(json.dumps([time.perf_counter() - begin, len(LOOPS), Compiled.names]))
"""
# What only tests and pages need.
NEVER = {"pytest", "hypothesis", "mkdocs", "ruff", "mypy", "scipy", "hmmlearn", "rdflib", "fastapi", "ipython"}


def run(*command: str | Path, **environment: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=own | environment).stdout


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main() -> None:
    (wheel,) = (ROOT / "dist").glob("presage-*.whl")
    with TemporaryDirectory(prefix="presage-wheel-") as folder:
        place, cache = Path(folder) / "venv", Path(folder) / "cache"
        venv.create(place, with_pip=True)
        python = place / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
        packages = {each["name"].lower() for each in json.loads(run(python, "-m", "pip", "list", "--format=json"))}
        assert not packages & NEVER, packages & NEVER
        print(f"{len(packages)} packages, {megabytes(place):.0f} MB")
        for what, program in (("first query", QUERY), ("second process", QUERY), ("every kernel", EVERY)):
            last = run(python, "-c", program, XDG_CACHE_HOME=str(cache)).splitlines()[-1]
            seconds, count, compiled = json.loads(last)
            print(f"{what}: {count} {'rows' if program is QUERY else 'kernels'} after {seconds:.1f} s")
            assert count >= 30, last
            assert not compiled, f"compiled there: {compiled}"
        assert not list(cache.rglob("*.kernel"))


if __name__ == "__main__":
    sys.exit(main())
