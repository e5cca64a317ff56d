"""Derived streams whose events may be later than the last one of the log: in a bounded query they advance the clock."""

from __future__ import annotations

from collections.abc import Iterator

from presage.plan.nodes import Node, Retime, Stamp, Trait, traits_of


def streams_ahead(plan: Node) -> Iterator[Node]:
    """The derived streams that a statement reads whose last event may be later than that of the log."""
    if isinstance(plan, Retime | Stamp):
        if Trait.RUNS_AHEAD in traits_of(plan):
            yield plan
        return
    for node in plan.timed:
        yield from streams_ahead(node)
