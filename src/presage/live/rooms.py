"""The rooms whose statements can stand: how their nodes are stepped, and what may be dealt out by keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from presage.columnar.steps import Rows
from presage.patterns import columnar as patterns
from presage.patterns.columnar import check_order
from presage.patterns.open_matches import open_matches
from presage.plan.nodes import Node, Retime
from presage.prediction import columnar as prediction
from presage.prediction.columnar import foresees
from presage.probability import columnar as probability
from presage.probability.columnar import counted_readings
from presage.recall import columnar as recall
from presage.recall.asking import EVER
from presage.recall.columnar import described, has_similar, lags, recalls, revises, standing, waited_for
from presage.recall.desk import Archive, OpenRecall, Said, outlook_of, recalls_of
from presage.windows import columnar as windows

__all__ = [
    "EVER",
    "OPERATORS",
    "Archive",
    "OpenRecall",
    "Said",
    "check_end",
    "check_order",
    "counted_readings",
    "described",
    "foresees",
    "has_patterns",
    "has_similar",
    "has_timers",
    "lags",
    "open_matches",
    "outlook_of",
    "reads_clock",
    "recalls",
    "recalls_of",
    "revises",
    "shard_node",
    "standing",
    "waited_for",
]

OPERATORS: Mapping[type[Node], Callable[..., Rows]] = {
    **windows.OPERATORS,
    **patterns.OPERATORS,
    **probability.OPERATORS,
    **prediction.OPERATORS,
    **recall.OPERATORS,
}
STATEFUL = (*windows.STATEFUL, *patterns.STATEFUL, *probability.STATEFUL, *prediction.STATEFUL)


def wall_clock() -> int:
    """By which recalls are reported, and given up."""
    return recall.wall_clock()


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: by a timer, or because rows wait for their time."""
    return any(room.has_timers(plan) for room in (windows, patterns, probability, prediction, recall))


def check_end(plan: Node, ends: int | None) -> None:
    """Refuse what needs an end and has none."""
    patterns.check_end(plan, ends)
    probability.check_end(plan, ends)


def has_patterns(plan: Node) -> bool:
    """Whether this plan has matches that may be open."""
    return any(isinstance(node, patterns.STATEFUL) for node in plan.walk())


def reads_clock(plan: Node) -> bool:
    """Whether rows of a bounded query depend on when exactly its time stops."""
    return (
        windows.has_batches(plan)
        or has_patterns(plan)
        or probability.has_timers(plan)
        or prediction.has_timers(plan)
        or recall.reads_clock(plan)
    )


def shard_node(plan: Node) -> Node | None:
    """The only stateful node of a plan, if its keys can be dealt with apart from each other."""
    stateful = [n for n in plan.walk() if isinstance(n, STATEFUL)]
    if len(stateful) != 1 or not _passes_on(plan, stateful[0]):
        return None
    return (
        stateful[0] if any(room.spreads(stateful[0]) for room in (windows, patterns, probability, prediction)) else None
    )


def _passes_on(plan: Node, node: Node) -> bool:
    """Whether every row of the plan comes from the node, whatever other rows there are.

    Beside it, each shard would make the rows of another input again; Retime looks at all rows to find the late ones.
    """
    while plan is not node:
        if len(plan.inputs) != 1 or isinstance(plan, Retime):
            return False
        (plan,) = plan.inputs
    return True
