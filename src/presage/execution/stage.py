"""The operator contract: a stateful node compiles to a `Stage`, and every way of running interprets stages.

A stage declares the kernel's input, the key and the order of its rows, and the names of its columns in the plan.
`execution.step_stages` interprets it on Arrow tables, step by step, `execution.spark.batch_stages` on DataFrames,
`execution.keyed_files` on files of the archive. An operator knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from presage.errors import error
from presage.model.operator_state import State
from presage.model.types import LONG
from presage.plan.expr import Expr
from presage.plan.nodes import SEQ, TIME, Field, Named, Node, order_columns

# Prefix of a stage's key columns, where each input names its own columns for them.
KEY = "_key"
# The number of the statement that a row belongs to, in shared execution: a further key of every kernel.
STATEMENT = "#statement"


class Kernel(Protocol):
    """A function from state, events in time order and watermark to state and rows. The rows do not depend on how the
    events are cut into steps."""

    def initial(self) -> State: ...

    def step(self, state: State, events: pa.Table, watermark: int, end: bool = False) -> tuple[State, pa.Table]: ...


def _no_lookup(table: StageInput) -> pa.Table:
    raise error("INTERNAL", what="a kernel that looks up a relation where there is none")


@dataclass(frozen=True)
class Resources:
    """What a kernel is built with: relations by name, the rows of the stage's lookup tables, and the threads that one
    step may use."""

    relations: Mapping[str, pa.Table]
    lookup: Callable[[StageInput], pa.Table] = _no_lookup
    threads: int = 1


@dataclass(frozen=True)
class StageInput:
    """Rows of a node, or of another stage, as the kernel takes them.

    `where` filters rows first. `carried` are columns of the source, under the kernel's name for them; `prepared` are
    expressions; `masks` are conditions, false where they are NULL. `keys` are the prepared columns of the stage's keys,
    where each input has its own. `number`: that of the source, for kernels with several.
    """

    source: Node | Stage
    prepared: tuple[Named, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()
    masks: tuple[Named, ...] = ()
    where: tuple[Expr, ...] = ()
    keys: tuple[str, ...] = ()
    number: int = 0

    @property
    def depth(self) -> int:
        return self.source.node.depth if isinstance(self.source, Stage) else self.source.depth


@dataclass(frozen=True)
class Stage:
    """One stateful node. The kernel's input has TIME, SEQ, `depth` order columns, the columns of its inputs and, if
    `numbered` is a name, the number of the input that a row comes from.

    `sort` is the processing order after TIME and SEQ. Rows with different `keys` are independent: `keys` partition the
    work. `made` are the kernel's columns beside TIME and SEQ, `outputs` those of the node with the kernel's name for
    each; `residual` is a condition over the outputs that the kernel does not check.
    - `wakes_empty`: the watermark alone may yield rows, without any event;
    - `shards`: its state may be partitioned by `keys` in a deployed statement;
    - `foresees`: the kernel also reads events that have arrived ahead of the watermark;
    - `reads_files`: its kernel may be stepped over files of the archive directly.
    """

    node: Node
    inputs: tuple[StageInput, ...]
    kernel: Callable[[Resources], Kernel]
    made: tuple[Field, ...]
    outputs: tuple[tuple[Field, str], ...]
    depth: int
    sort: tuple[str, ...]
    keys: tuple[str, ...] = ()
    numbered: str = ""
    residual: Expr | None = None
    wakes_empty: bool = False
    shards: bool = True
    foresees: bool = False
    reads_files: bool = False

    @property
    def order(self) -> tuple[str, ...]:
        """Order columns of the kernel's input."""
        return order_columns(self.depth)

    @property
    def ordering(self) -> tuple[str, ...]:
        return (TIME, SEQ, *self.sort)

    @property
    def fields(self) -> tuple[Field, ...]:
        """All columns of the kernel."""
        return (Field(TIME, LONG), Field(SEQ, LONG), *self.made)

    @property
    def shard_keys(self) -> tuple[str, ...]:
        """The keys by which rows are divided into shards: those of the statement's own plan."""
        return tuple(key for key in self.keys if key != STATEMENT)


def key_columns(count: int) -> tuple[str, ...]:
    return tuple(f"{KEY}{i}" for i in range(count))


def order_fields(names: tuple[str, ...]) -> tuple[Field, ...]:
    return tuple(Field(name, LONG) for name in names)


def renamed(fields: tuple[Field, ...], names: tuple[str, ...] | None = None) -> tuple[tuple[Field, str], ...]:
    """Outputs: columns of the node, each with the kernel's name for it, which is its own by default."""
    return tuple(zip(fields, names or tuple(f.name for f in fields), strict=True))


def carried(*names: str) -> tuple[tuple[str, str], ...]:
    """Carried columns under their own names."""
    return tuple((name, name) for name in names)


class EventCommand(NamedTuple):
    """A user's command on an event that a deployed statement holds open: cancel, accelerate, continue."""

    action: str
    event: str


class OpenEvent(NamedTuple):
    """An event that a deployed statement holds open; `shown`: the columns of SHOW about it."""

    event: str
    shown: tuple[Any, ...]


class Outlook(NamedTuple):
    """The open events of a state: how many are ready and suspended, when the first is dropped, and the sequence number
    of the first that is late within the time up to which all rows are emitted."""

    ready: int
    suspended: int
    due: int | None
    reopened: int | None = None


class StateSharing(Protocol):
    """How the nodes of an operator run in shared execution: for many statements that differ in constants alone, with
    the number of the statement as a further key. `KEEPERS` are its stateful nodes."""

    KEEPERS: tuple[type[Node], ...]

    def shared_node(self, node: Node) -> Node | None:
        """The node for many statements; None if this one cannot be shared."""

    def claimed(self, node: Node, state: State, number: int) -> State:
        """The state of one statement as a shared state."""

    def joined(self, node: Node, several: Sequence[State]) -> State:
        """The union of shared states of different statements."""

    def part(self, node: Node, state: State, numbers: Collection[int]) -> State:
        """The part of a shared state that belongs to some statements, as a shared state."""

    def alone(self, node: Node, state: State, number: int) -> State:
        """The part of a shared state that belongs to one statement, as the state of its own kernel."""

    def open_by_statement(self, node: Node, state: State) -> dict[int, int] | None:
        """How many partial matches of each statement are open; None for a node without matches."""


@dataclass(frozen=True)
class Operator:
    """The runtime part of a capability: how its nodes run.

    `stages` compiles a node to its stage, or to another node that yields the same rows. Nodes that are no stages are
    run by `steps`, on tables, and by the `OPERATORS` of the module named `spark`, on DataFrames; that module says why.
    That module also says what a plan needs before it runs on Spark (`execution.spark.batch.SparkOperators`).
    `needs_spark` says why a bounded plan cannot run in this process, if it cannot. `history` opens the history that a
    node reads, with the access of the engine (`execution.local.HistoryAccess`).
    `timers`: whether the watermark alone can make the node yield rows. `reads_end`: whether rows of a bounded query
    depend on its last watermark. `check_deployed` rejects what an unbounded statement (`ends` is None) cannot do,
    `check_stream` what streaming execution cannot do. `open_matches` counts the partial matches in a state, by the name
    of its kernel; `counters` reads further counters from a state. `deployed` gives the plan of a
    deployed statement, whose rows may become events of a stream (the second argument), `explained` its further lines of
    EXPLAIN; `open_events` and `outlook` tell what a state holds open for users, `event_columns` names what is shown.
    `shared`: shared execution of its nodes; `apart_from_matches`: node types that are not shared above a node with open
    matches. `traced` gives the node with the events of each match as further columns, and those columns.
    """

    stages: Mapping[type[Node], Callable[[Any], Stage | Node]] = field(default_factory=dict)
    steps: Mapping[type[Node], Callable[..., Any]] = field(default_factory=dict)
    spark: str = ""
    timers: Callable[[Node], bool] = lambda node: False
    reads_end: Callable[[Node], bool] = lambda node: False
    check_deployed: Callable[[Node, int | None], None] = lambda node, ends: None
    check_stream: Callable[[Node], None] = lambda node: None
    open_matches: Mapping[str, Callable[[State], int]] = field(default_factory=dict)
    counters: Callable[[State], dict[str, int]] = lambda state: {}
    needs_spark: Callable[[Node], str] = lambda plan: ""
    history: Mapping[type[Node], Callable[[Any, Any], Any]] = field(default_factory=dict)
    deployed: Callable[[Node, bool], Node] = lambda plan, as_events: plan
    explained: Callable[[Node], list[str]] = lambda plan: []
    open_events: Callable[[State], list[OpenEvent]] = lambda state: []
    event_columns: tuple[str, ...] = ()
    outlook: Callable[[State], Outlook | None] = lambda state: None
    shared: StateSharing | None = None
    apart_from_matches: tuple[type[Node], ...] = ()
    traced: Mapping[type[Node], Callable[[Any], tuple[Node, tuple[Field, ...]]]] = field(default_factory=dict)
