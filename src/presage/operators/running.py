"""The running half of every capability, found by name: how plans of all operators run, and what they need of time.

Engine and live modules ask here and name no operator by hand. An operator is imported with the first plan that has a
node of it: to load the kernels of all takes longer than a small query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module

from presage.execution.local import stage_of
from presage.execution.stage import OpenEvent, Operator, Outlook, Stage
from presage.execution.step_stages import steps_of
from presage.execution.steps import Rows
from presage.model.operator_state import State
from presage.operators.registry import NAMES, capabilities_in, capability_of
from presage.plan.nodes import Field, Node, Retime

Stepper = Callable[..., Rows]

# Those that plans of this process have nodes of, by name.
_IN_USE: dict[str, Operator] = {}
_OF_OTHER_NODES = Operator()


def all_operators() -> dict[str, Operator]:
    return {name: _operator(name) for name in NAMES}


def operator_of(node: Node) -> Operator:
    """The operator of a node; for a node of no capability one that asks for nothing."""
    name = capability_of(type(node))
    return _OF_OTHER_NODES if name is None else _operator(name)


def _operator(name: str) -> Operator:
    if name not in _IN_USE:
        _IN_USE[name] = import_module(f"{__package__}.{name}.stages").OPERATOR
    return _IN_USE[name]


def _operators_in(plan: Node) -> list[Operator]:
    return [_operator(name) for name in capabilities_in(plan)]


def _operators_of_states() -> list[Operator]:
    # A state comes with its plan, whose operators are in use.
    return list(_IN_USE.values())


@cache
def _steps_of(name: str) -> dict[type[Node], Stepper]:
    return steps_of(_operator(name))


class Steps(Mapping[type[Node], Stepper]):
    """By type of node: the function that steps it. `own`: functions for further types."""

    def __init__(self, own: Mapping[type[Node], Stepper]) -> None:
        self._own = own
        self._seen: dict[type[Node], Stepper] = dict(own)  # asked for each node in each step

    def __getitem__(self, kind: type[Node]) -> Stepper:
        if kind not in self._seen:
            name = capability_of(kind)
            if name is None:
                raise KeyError(kind)
            self._seen[kind] = _steps_of(name)[kind]
        return self._seen[kind]

    def __iter__(self) -> Iterator[type[Node]]:
        yield from self._own
        for name in NAMES:
            yield from _steps_of(name)

    def __len__(self) -> int:
        return sum(1 for _ in self)


STEPS = Steps({})


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows: by a timer, or because rows wait for their time."""
    return any(isinstance(n, Retime) or operator_of(n).timers(n) for n in plan.walk())


def reads_end(plan: Node) -> bool:
    """Whether rows of a bounded query depend on where exactly its time stops."""
    return any(operator_of(node).reads_end(node) for node in plan.walk())


def needs_spark(plan: Node) -> str:
    """Why a bounded plan cannot run in this process; empty if it can."""
    return next((why for operator in _operators_in(plan) if (why := operator.needs_spark(plan))), "")


def check_deployed(plan: Node, ends: int | None) -> None:
    """Refuse what needs an end and has none."""
    for node in plan.walk():
        operator_of(node).check_deployed(node, ends)


def check_stream(plan: Node) -> None:
    """Refuse what cannot take events as they come."""
    for node in plan.walk():
        operator_of(node).check_stream(node)


def foresees(plan: Node) -> bool:
    """Whether this plan looks at events before their time is settled."""
    return any(stage.foresees for stage in _stages(plan))


def has_matches(plan: Node) -> bool:
    """Whether this plan has matches that may be open."""
    return any(has_own_matches(node) for node in plan.walk())


def has_own_matches(node: Node) -> bool:
    """Whether this node has matches that may be open."""
    operator = operator_of(node)
    return bool(operator.open_matches) and type(node) in operator.stages


def open_matches(state: State) -> int | None:
    """How many partial matches are open in a state; None for one that has none."""
    for operator in _operators_of_states():
        if state.kernel in operator.open_matches:
            return operator.open_matches[state.kernel](state)
    return None


def counters(state: State) -> dict[str, int]:
    """Figures that operators count in their states, for monitoring."""
    return {name: n for operator in _operators_of_states() for name, n in operator.counters(state).items()}


def deployed_plan(plan: Node, as_events: bool) -> Node:
    """The plan of a deployed statement; `as_events`: its rows become events of a stream."""
    for operator in _operators_in(plan):
        plan = operator.deployed(plan, as_events)
    return plan


def explain_deployed(plan: Node) -> list[str]:
    """What EXPLAIN adds for a deployed statement."""
    return [line for operator in _operators_in(plan) for line in operator.explained(plan)]


def open_events(state: State) -> list[OpenEvent]:
    """The events that a state holds open."""
    return [event for operator in _operators_of_states() for event in operator.open_events(state)]


def event_columns() -> tuple[str, ...]:
    """The names of what is shown of open events."""
    return tuple(name for operator in all_operators().values() for name in operator.event_columns)


def outlook_of(state: State) -> Outlook | None:
    """What a state holds open; None for one that holds no events open."""
    return next((found for o in _operators_of_states() if (found := o.outlook(state)) is not None), None)


def traced(node: Node) -> tuple[Node, tuple[Field, ...]] | None:
    """The node with the events of its matches in further columns, and these; None for a node that has no matches."""
    of_node = operator_of(node).traced.get(type(node))
    return None if of_node is None else of_node(node)


def shard_node(plan: Node) -> Node | None:
    """The only stateful node of a plan, if its keys can be dealt with apart from each other."""
    stages = _stages(plan)
    if len(stages) != 1 or not (stages[0].shards and stages[0].shard_keys):
        return None
    return stages[0].node if _passes_on(plan, stages[0].node) else None


def _stages(plan: Node) -> list[Stage]:
    found = (stage_of(node, operator_of(node)) for node in plan.walk())
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
