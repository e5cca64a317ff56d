"""What a command loads: nothing that it does not use. Each of these libraries takes longer than a small query."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from presage.operators.registry import NAMES, binders, part

STATEMENTS = """
CREATE STREAM Temperature (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at;
SELECT room, avg(celsius) AS mean FROM Temperature#time(10 min) GROUP BY room HAVING avg(celsius) > 22;
"""
EVENTS = "room,celsius,at\nr1,21.0,2024-03-01T09:00:00Z\nr2,24.0,2024-03-01T09:01:00Z\n"
QUERY = ("query", "warm.epl", "--events", "Temperature=temperature.csv")
PROGRAM = """
import sys
from presage.cli import main
code = main()
sys.stderr.write(" ".join(sys.modules))
sys.exit(code)
"""


def loaded(folder: Path, *arguments: str, program: str = PROGRAM) -> set[str]:
    """The modules that a command has loaded when it ends."""
    (folder / "warm.epl").write_text(STATEMENTS)
    (folder / "temperature.csv").write_text(EVENTS)
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_a_query_loads_no_spark_no_pandas_and_no_compiler(tmp_path: Path) -> None:
    loaded(tmp_path, *QUERY)  # compiles what is not compiled yet
    modules = loaded(tmp_path, *QUERY)
    assert modules & {"pyspark", "py4j", "pandas", "scipy.linalg", "numba.np.linalg", "fastapi", "deltalake"} == set()
    # What the kernels were compiled from. Restoring one as Numba does would load it.
    assert modules & {"numba.np.arrayobj", "numba.cpython.unicode"} == set()


@pytest.mark.parametrize("words", [QUERY, ("check", "warm.epl"), ("check", "--format=json", "warm.epl")])
def test_a_plain_command_line_loads_neither_typer_nor_pydantic(words: tuple[str, ...], tmp_path: Path) -> None:
    assert loaded(tmp_path, *words) & {"typer", "pydantic", "click"} == set()


def test_no_garbage_is_searched_for_while_a_command_loads(tmp_path: Path) -> None:
    loaded(tmp_path, *QUERY)
    counting = PROGRAM.replace(
        "code =", "import gc\nseen = []\ngc.callbacks.append(lambda *said: seen.append(said))\ncode ="
    )
    assert loaded(tmp_path, *QUERY, program=counting.replace('" ".join(sys.modules)', "str(seen)")) == {"[]"}


def test_a_query_loads_the_kernels_of_its_own_operators_alone(tmp_path: Path) -> None:
    modules = loaded(tmp_path, *QUERY)
    assert {name for name in NAMES if f"presage.operators.{name}.stages" in modules} == {"windows"}
    assert {name for name in NAMES if f"presage.operators.{name}.bind" in modules} == set()
    assert modules & {"pyoxigraph", "presage.operators.knowledge.sparql_syntax"} == set()


def test_a_check_loads_no_capability_that_binds_nothing(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "check", "warm.epl")
    binding = {name for name in NAMES if f"presage.operators.{name}.analyze" in modules}
    assert binding <= {"knowledge"}  # it looks for its words in every query


@pytest.mark.parametrize("name", NAMES)
def test_a_capability_names_the_items_that_it_binds(name: str) -> None:
    module = part(name, "analyze")
    methods = set() if module is None else {method for method in vars(module.ITEMS) if not method.startswith("_")}
    fields = set() if module is None else set(getattr(module.ITEMS, "__dataclass_fields__", {}))
    assert methods - fields == {method for method, owner in binders().items() if owner == name}
