"""A window, an aggregate and a function from a folder outside the package: checked, explained, tried in a scenario."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.registered import FOLDER, MODULE, registered
from presage import PresageError
from presage.functions import AggregateFunction, register_aggregate, register_function
from presage.functions.aggregates import aggregate_named
from presage.functions.scalars import BY_NAME
from presage.operators.windows.window_types import window_type
from presage.scenarios import run_scenarios
from presage.workspace import Workspace

TICK = "CREATE STREAM Tick (name STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;"
QUERY = "SELECT initials(name) AS who, extent(price) AS wide FROM Tick#minute GROUP BY name"


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    with registered():
        yield


def test_a_statement_that_uses_them_is_checked() -> None:
    Workspace(None, ".").check(f"{TICK}\n{QUERY};", "q")
    with pytest.raises(PresageError, match="extent needs a number"):
        Workspace(None, ".").check(f"{TICK}\nSELECT extent(name) FROM Tick#minute;", "q")
    with pytest.raises(PresageError, match="minute"):
        Workspace(None, ".").check(f"{TICK}\nSELECT name FROM Tick#minute(5 min);", "q")


def test_explain_says_what_the_window_holds() -> None:
    workspace = Workspace(None, ".")
    declared, query = workspace.check(f"{TICK}\n{QUERY};", "q").statements
    workspace.declare(declared)
    told = workspace.explain(workspace.bind(query))
    assert "extent(price)" in told
    assert "the events of the current minute" in told


def test_a_scenario_runs_them(tmp_path: Path) -> None:
    text = f"""{TICK} CREATE STATEMENT wide AS {QUERY};
        INSERT INTO Tick VALUES ('ann lee', 3, '2024-01-01T00:00:10Z'), ('ann lee', 8, '2024-01-01T00:00:50Z'),
                                ('ann lee', 4, '2024-01-01T00:01:05Z');
        ADVANCE TO '2024-01-01T01:00:00Z';
        ASSERT wide (who, wide) VALUES ('al', 0), ('al', 5), ('al', 0);"""
    (tmp_path / "t.epl").write_text(text)
    (outcome,) = run_scenarios(tmp_path / "t.epl", name="t.epl")
    assert outcome.failure is None


def test_a_join_lets_events_go_when_their_minute_ends(tmp_path: Path) -> None:
    text = f"""{TICK} CREATE STREAM Other (name STRING, at TIMESTAMP) EVENT TIME at;
        CREATE STATEMENT met AS SELECT t.price FROM Tick#minute t, Other#lastevent o WHERE t.name = o.name;
        INSERT INTO Tick VALUES ('a', 1, '2024-01-01T00:00:59Z'), ('a', 2, '2024-01-01T00:01:00Z');
        INSERT INTO Other VALUES ('a', '2024-01-01T00:01:01Z');
        ADVANCE TO '2024-01-01T01:00:00Z'; ASSERT met VALUES (2);"""
    (tmp_path / "t.epl").write_text(text)
    (outcome,) = run_scenarios(tmp_path / "t.epl", name="t.epl")
    assert outcome.failure is None


def test_the_command_line_checks_with_extensions_named_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "q.epl").write_text(f"{TICK}\n{QUERY};")
    path = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    checked = [sys.executable, "-m", "presage", "check", str(tmp_path / "q.epl")]
    env = {**os.environ, "PYTHONPATH": path}
    assert subprocess.run(checked, env=env, check=False, capture_output=True).returncode == 1
    named = {**env, "PRESAGE_EXTENSIONS": MODULE}
    assert subprocess.run(checked, env=named, check=True, capture_output=True).returncode == 0


@pytest.mark.parametrize("kind", ["aggregate", "window", "function"])
def test_a_name_takes_its_module_along(kind: str) -> None:
    names = {
        "aggregate": aggregate_named("extent").name,
        "window": window_type("minute").name,
        "function": BY_NAME["initials"].names[0],
    }
    code = f"import pickle, sys; sys.path.insert(0, {str(FOLDER)!r}); pickle.loads({pickle.dumps(names[kind])!r})"
    code += f"; print({MODULE!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_name_of_the_language_or_of_another_extension_is_refused() -> None:
    class Sum(AggregateFunction):
        name = "sum"
        says = ""

    with pytest.raises(PresageError, match="'sum' is used twice"):
        register_aggregate(Sum())
    with pytest.raises(PresageError, match="'initials' is used twice"):
        register_function("initials", "STRING -> STRING", "", value=str)


def test_DEFINE_refuses_an_aggregate_that_the_search_does_not_maintain() -> None:
    text = f"{TICK} SELECT * FROM Tick MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS extent(A.price) > 1);"
    with pytest.raises(PresageError, match=r"extent.* in DEFINE"):
        Workspace(None, ".").check(text, "q")
