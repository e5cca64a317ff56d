"""All interleavings of a few processes that write one home: nothing is lost, and each rule is needed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import settings

from reference.writers import Explorer, Rules

# Processes, appends of each, faults of the store. Together they reach every way in which a rule is needed.
SMALL = [(2, 1, 1), (2, 2, 1), (3, 1, 0)]
# Of minutes.
LARGE = [(2, 2, 2), (3, 1, 1), (3, 2, 0)]
SIZES = SMALL + (LARGE if settings.get_current_profile_name() == "soak" else [])


@pytest.mark.parametrize("size", SIZES)
def test_however_processes_are_paused_and_requests_fail_no_promise_is_broken(size: tuple[int, int, int]) -> None:
    explorer = Explorer(*size)
    assert explorer.explore() == []
    print(f"{size}: {explorer.states:,} states, {explorer.transitions:,} steps")
    assert explorer.states > 3_000


@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_without_any_one_of_the_rules_a_promise_is_broken(rule: str) -> None:
    without = replace(Rules(), **{rule: False})
    found = next((trace for size in SMALL if (trace := Explorer(*size, rules=without).explore())), [])
    assert found, f"nothing goes wrong without the rule '{rule}'"
    print(*found, sep="\n")
