"""The running half of every capability, found by name: how plans of all operators run, and what they need of time.

Engine and live modules ask here and name no operator by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from presage.execution.local import stage_of
from presage.execution.stage import OpenEvent, Operator, Outlook, Stage
from presage.execution.step_stages import step_operators
from presage.execution.steps import Rows
from presage.model.operator_state import State
from presage.operators.registry import parts
from presage.plan.nodes import Field, Node, Retime

OPERATORS: Mapping[str, Operator] = {name: module.OPERATOR for name, module in parts("stages").items()}
STEPS: Mapping[type[Node], Callable[..., Rows]] = step_operators(OPERATORS)


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: by a timer, or because rows wait for their time."""
    return any(isinstance(n, Retime) or any(o.timers(n) for o in OPERATORS.values()) for n in plan.walk())


def reads_end(plan: Node) -> bool:
    """Whether rows of a bounded query depend on where exactly its time stops."""
    return any(operator.reads_end(node) for node in plan.walk() for operator in OPERATORS.values())


def needs_spark(plan: Node) -> str:
    """Why a bounded plan cannot run in this process; empty if it can."""
    return next((why for operator in OPERATORS.values() if (why := operator.needs_spark(plan))), "")


def check_deployed(plan: Node, ends: int | None) -> None:
    """Refuse what needs an end and has none."""
    for node in plan.walk():
        for operator in OPERATORS.values():
            operator.check_deployed(node, ends)


def check_stream(plan: Node) -> None:
    """Refuse what cannot take events as they come."""
    for node in plan.walk():
        for operator in OPERATORS.values():
            operator.check_stream(node)


def foresees(plan: Node) -> bool:
    """Whether this plan looks at events before their time is settled."""
    return any(stage.foresees for stage in _stages(plan))


def has_matches(plan: Node) -> bool:
    """Whether this plan has matches that may be open."""
    return any(isinstance(node, matching_nodes()) for node in plan.walk())


def matching_nodes() -> tuple[type[Node], ...]:
    """The kinds of nodes that have matches."""
    return tuple(kind for operator in OPERATORS.values() if operator.open_matches for kind in operator.stages)


def open_matches(state: State) -> int | None:
    """How many partial matches are open in a state; None for one that has none."""
    for operator in OPERATORS.values():
        if state.kernel in operator.open_matches:
            return operator.open_matches[state.kernel](state)
    return None


def counters(state: State) -> dict[str, int]:
    """Figures that operators count in their states, for monitoring."""
    return {name: n for operator in OPERATORS.values() for name, n in operator.counters(state).items()}


def deployed_plan(plan: Node, as_events: bool) -> Node:
    """The plan of a deployed statement; `as_events`: its rows become events of a stream."""
    for operator in OPERATORS.values():
        plan = operator.deployed(plan, as_events)
    return plan


def explain_deployed(plan: Node) -> list[str]:
    """What EXPLAIN adds for a deployed statement."""
    return [line for operator in OPERATORS.values() for line in operator.explained(plan)]


def open_events(state: State) -> list[OpenEvent]:
    """The events that a state holds open."""
    return [event for operator in OPERATORS.values() for event in operator.open_events(state)]


def event_columns() -> tuple[str, ...]:
    """The names of what is shown of open events."""
    return tuple(name for operator in OPERATORS.values() for name in operator.event_columns)


def outlook_of(state: State) -> Outlook | None:
    """What a state holds open; None for one that holds no events open."""
    return next((found for o in OPERATORS.values() if (found := o.outlook(state)) is not None), None)


def traced(node: Node) -> tuple[Node, tuple[Field, ...]] | None:
    """The node with the events of its matches in further columns, and these; None for a node that has no matches."""
    for operator in OPERATORS.values():
        if type(node) in operator.traced:
            return operator.traced[type(node)](node)
    return None


def shard_node(plan: Node) -> Node | None:
    """The only stateful node of a plan, if its keys can be dealt with apart from each other."""
    stages = _stages(plan)
    if len(stages) != 1 or not (stages[0].shards and stages[0].shard_keys):
        return None
    return stages[0].node if _passes_on(plan, stages[0].node) else None


def _stages(plan: Node) -> list[Stage]:
    found = (stage_of(node, OPERATORS) for node in plan.walk())
    return [stage for stage in found if stage is not None]


def _passes_on(plan: Node, node: Node) -> bool:
    """Whether every row of the plan comes from the node, whatever other rows there are.

    Beside it, each shard would make the rows of another input again; Retime looks at all rows to find the late ones.
    """
    while plan is not node:
        if len(plan.inputs) != 1 or isinstance(plan, Retime):
            return False
        (plan,) = plan.inputs
    return True
