"""Every conformance case, stepped on Arrow: whole, in random batches, event by event; the state goes through bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.cases import Case, cases, differences, error_cases
from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.workspace import Workspace

# A function that only Spark computes; the cases with it run on Spark.
NEEDS_SPARK = ("CONCAT_WS",)


def events_of(case: Case) -> list[tuple[str, dict[str, Any]]]:
    return [(e["type"], {k: v for k, v in e.items() if k != "type"} | {"ts": e["ts"] * 1_000}) for e in case.events]


def cuts_of(case: Case) -> list[list[int]]:
    """Whole; and, where rows come in the order of time, some random batches, and one for each event."""
    count = len(case.events)
    if not case.by_time or not count:
        return [[]]
    dice = random.Random(case.id)
    some = sorted(dice.sample(range(1, count + 1), min(count, dice.randint(1, 4))))
    return [[], some, list(range(1, count + 1))]


@pytest.mark.parametrize("case", [c for c in cases() if not any(w in c.query for w in NEEDS_SPARK)], ids=lambda c: c.id)
def test_the_rows_are_those_of_the_case_however_it_is_cut(case: Case) -> None:
    for cuts in cuts_of(case):
        rows = run_in_steps(case.declarations, case.query, events_of(case), cuts)
        assert differences(case, rows) == "", f"{case.query}\ncut after {cuts}"


@pytest.mark.parametrize("case", cases()[::7], ids=lambda c: c.id)
def test_the_optimizer_changes_no_row(case: Case) -> None:
    if not any(w in case.query for w in NEEDS_SPARK):
        rows = run_in_steps(case.declarations, case.query, events_of(case), [], optimized=False)
        assert differences(case, rows) == "", case.query


@pytest.mark.parametrize("case", [c for c in error_cases() if c.when == "compile"], ids=lambda c: c.id)
def test_what_is_wrong_is_refused_before_any_event(case: Case) -> None:
    workspace = Workspace([], ".")
    workspace.check(case.declarations)
    with pytest.raises(PresageError) as refused:
        workspace.check(case.query)
    assert refused.value.fault != "internal"
    assert refused.value.span is not None


@pytest.mark.parametrize("case", [c for c in error_cases() if c.when == "run"], ids=lambda c: c.id)
def test_what_goes_wrong_while_running_is_told(case: Case) -> None:
    with pytest.raises(PresageError) as failed:
        run_in_steps(case.declarations, case.query, events_of(case), [])
    assert failed.value.fault != "internal"
