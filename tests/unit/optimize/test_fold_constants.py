"""What is known before the first event is computed then; what Python and Spark might compute differently is not."""

from __future__ import annotations

import pytest

from presage.optimize.fold_constants import fold_constants
from presage.plan.display import show
from presage.plan.nodes import Filter, Project
from unit.declared import bind

FOLDED = {
    "x > 10 * 2 AND TRUE": "Motion.x > 20.0",
    "FALSE AND x > 1": "FALSE",
    "NULL AND x > 1": "NULL AND Motion.x > 1.0",
    "NULL AND FALSE": "FALSE",
    "x > 1 OR TRUE": "TRUE",
    "x > 1 OR FALSE": "Motion.x > 1.0",
    "NOT (1 = 2)": "TRUE",
    "NOT NULL": "NULL",
    "1 + NULL > 2": "NULL",
    "NULL IS NULL": "TRUE",
    "1 IS NULL": "FALSE",
    "'a' < 'b'": "TRUE",
    "'ü' < 'z'": "FALSE",
    "'2024-03-01' < at": "'2024-03-01T00:00:00Z' < Motion.at",
    "n = 2147483647 + 1": "Motion.n = NULL",
    "x = 1 / 0": "Motion.x = NULL",
    "x = 1 / 2": "Motion.x = 0.5",
    "n = 7 % 2": "Motion.n = (7 % 2)",
    "n = CASE WHEN FALSE THEN 1 WHEN NULL THEN 2 ELSE 3 END": "Motion.n = 3",
    "n = CASE WHEN x > 1 THEN 1 WHEN TRUE THEN 2 ELSE 3 END": "Motion.n = CASE WHEN Motion.x > 1.0 THEN 1 ELSE 2 END",
    "(x > 1 OR (y > 1 AND TRUE)) AND NOT FALSE": "Motion.x > 1.0 OR Motion.y > 1.0",
    "camera || 'a' || 'b' = 'cab'": "((Motion.camera || 'a') || 'b') = 'cab'",
}


@pytest.mark.parametrize("condition", FOLDED)
def test_a_condition_becomes_simpler(condition: str) -> None:
    plan = fold_constants(bind(f"SELECT {condition} AS c FROM Motion").plan)
    (project,) = [n for n in plan.walk() if isinstance(n, Project)]
    assert show(project.outputs[0].expr) == FOLDED[condition]


def test_a_filter_that_is_always_true_goes() -> None:
    plan = fold_constants(bind("SELECT x FROM Motion WHERE 1 = 1 AND TRUE").plan)
    assert not any(isinstance(n, Filter) for n in plan.walk())


def test_a_filter_that_is_never_true_stays() -> None:
    plan = fold_constants(bind("SELECT x FROM Motion WHERE NULL").plan)
    assert any(isinstance(n, Filter) for n in plan.walk())


@pytest.mark.parametrize(
    "term", ["n + 1", "x / 0", "-(n)", "upper('a')", "CAST('1' AS INT)", "1.5 % 0.5", "5 sec + at"]
)
def test_what_depends_on_an_event_or_on_Spark_is_left_alone(term: str) -> None:
    plan = bind(f"SELECT {term} AS c FROM Motion").plan
    assert fold_constants(plan) == plan


def test_folding_reaches_windows_aggregates_and_joins() -> None:
    text = "SELECT sum(1 + 1) AS s FROM Motion#unique(2 * 3) AS m JOIN Fault#length(1) AS f ON 1 = 1 GROUP BY 4 - 1"
    labels = " ".join(n.label() for n in fold_constants(bind(text).plan).walk())
    assert "sum(2)" in labels
    assert "by [3]" in labels
    assert "#unique(6)" in labels
    assert "Join on TRUE" in labels


def test_names_and_types_of_columns_stay() -> None:
    plan = bind("SELECT 1 + 1 AS a, CASE WHEN TRUE THEN NULL ELSE 1 END AS b FROM Motion").plan
    folded = fold_constants(plan)
    assert isinstance(folded.inputs[0], Project)
    assert folded.columns == plan.columns
