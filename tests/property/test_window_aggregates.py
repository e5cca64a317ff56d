"""Kernels of aggregates = their twins, and rows do not depend on how the input is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.changelog import ChangelogAggregateKernel
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, TIME
from presage.operators.windows.window_types import START
from property.window_worlds import GROUP_BY, SOME_AGGREGATES, VALUES, worlds
from reference.aggregate_worlds import BATCHES, CARRY, CHANGES, ORDER, SLIDING, check, name
from reference.window_aggregates import batch_rows, changelog_rows, sliding_rows

# Shared out over the windows, of which each has a test of its own.
SHARE = settings(max_examples=settings().max_examples // 8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("window", SLIDING, ids=name)
@SHARE
@given(world=worlds(), group_by=GROUP_BY, aggregates=SOME_AGGREGATES)
def test_sliding_windows_agree_with_their_definition_however_they_are_cut(window, world, group_by, aggregates):
    events, steps = world
    kernel = AggregateKernel(window, group_by, bool(group_by), aggregates, CARRY, (ORDER,))
    check(kernel, events, steps, lambda e: sliding_rows(window, group_by, aggregates, CARRY, (ORDER,), e))


@pytest.mark.parametrize("window", BATCHES, ids=name)
@SHARE
@given(
    world=worlds(),
    group_by=GROUP_BY,
    aggregates=SOME_AGGREGATES,
    carry=st.sampled_from([(), CARRY]),
    order=st.sampled_from([(), (ORDER,)]),
)
def test_batch_windows_agree_with_their_definition_however_they_are_cut(
    window, world, group_by, aggregates, carry, order
):
    events, steps = world
    for i, event in enumerate(events):
        event[SEQ] = event[SEQ] if order else i
    carry = (*carry, START) if window.kind == "session" and carry else carry
    kernel = AggregateKernel(window, group_by, bool(group_by), aggregates, carry, order)
    check(
        kernel,
        events,
        steps,
        lambda e: batch_rows(window, group_by, bool(group_by), aggregates, carry, order, e, steps[-1][1]),
    )


@st.composite
def changelogs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Steps in which some live tuples leave and some enter, cut between steps."""
    rows: list[dict[str, Any]] = []
    live: list[dict[str, Any]] = []
    ends = [0]
    values = {n: s for n, s in VALUES.items() if n != PASS}
    for number in range(draw(st.integers(0, 8))):
        place = {TIME: number // 2, SEQ: number, ORDER: 0}
        leaving = [e for e in live if draw(st.integers(0, 2)) == 0]
        entering = draw(st.lists(st.fixed_dictionaries(values), max_size=4))
        changes = [{**e, CHANGE: -1} for e in leaving]
        changes += [{**e, CHANGE: 1, "l": len(rows), "r": i} for i, e in enumerate(entering)]
        live = [e for e in live if e not in leaving] + changes[len(leaving) :]
        rows += [{**c, **place, ORDINAL: i} for i, c in enumerate(changes)]
        ends.append(len(rows))
    cuts = sorted(draw(st.lists(st.sampled_from(ends), max_size=4)))
    return rows, [(cut, 99) for cut in [*cuts, len(rows)]]


@settings(SHARE, max_examples=settings().max_examples // 2)
@given(world=changelogs(), group_by=GROUP_BY, aggregates=SOME_AGGREGATES)
def test_changelogs_agree_with_their_definition_however_they_are_cut(world, group_by, aggregates):
    rows, steps = world
    kernel = ChangelogAggregateKernel(group_by, bool(group_by), aggregates, CARRY, (ORDER,), ("l", "r"))
    check(
        kernel,
        rows,
        steps,
        lambda e: changelog_rows(group_by, bool(group_by), aggregates, CARRY, (ORDER,), ("l", "r"), e),
        CHANGES,
    )
