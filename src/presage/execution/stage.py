"""The operator contract: a stateful node compiles to a `Stage`, and every way of running interprets stages.

A stage says what goes into the kernel, by which columns its rows are divided and ordered, and what its columns are
called outside. `execution.step_stages` interprets it on Arrow tables, step by step, `execution.spark.batch_stages` on
DataFrames, `execution.keyed_files` on files of the archive. An operator knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from presage.errors import error
from presage.model.operator_state import State
from presage.model.types import LONG
from presage.plan.expr import Expr
from presage.plan.nodes import SEQ, TIME, Field, Named, Node, order_columns

# Columns of a stage's keys, where each input has its own columns for them.
KEY = "_key"
# The number of the statement a row belongs to, where statements that differ in constants alone step as one. It is a
# further key of the kernel, and passes through every stage.
STATEMENT = "#statement"


class Kernel(Protocol):
    """(state, events in time order, watermark) -> (state', rows), however the events are cut into steps."""

    def initial(self) -> State: ...

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]: ...


def _no_lookup(table: StageInput) -> pa.Table:
    raise error("INTERNAL", what="a kernel that looks up a relation where there is none")


@dataclass(frozen=True)
class Resources:
    """What a kernel is built with, beside its stage: relations by name, the rows of the stage's lookup tables, and the
    threads that one step may use."""

    relations: Mapping[str, pa.Table]
    lookup: Callable[[StageInput], pa.Table] = _no_lookup
    threads: int = 1


@dataclass(frozen=True)
class StageInput:
    """Rows of a node, or of another stage, as the kernel takes them.

    `where` drops rows first. `carried` are columns as they are, under the kernel's name for them; `prepared` are
    expressions; `masks` are conditions, false where they are unknown. `keys` are the prepared columns that the stage's
    keys stand for, where each input has its own. `number`: of the source, for kernels that number theirs.
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
    """One stateful node. The kernel's input has TIME, SEQ, `depth` order columns, those of its inputs and, where there
    is a name in `numbered`, the number of the input that a row comes from.

    `sort` is the processing order after TIME and SEQ; rows that differ in `keys` never meet, so that these spread the
    work. `made` are the kernel's columns beside TIME and SEQ, `outputs` those of the node with the kernel's name for
    each; `residual` is a condition over the outputs that the kernel does not check. Whether
    - `wakes_empty`: time alone may yield rows, though no event ever came;
    - `shards`: its state may be divided by `keys` in a deployed statement;
    - `foresees`: the kernel also looks at events that are there and lie beyond the watermark;
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
        """The keys by which rows are divided into shards: a statement's own."""
        return tuple(key for key in self.keys if key != STATEMENT)


def key_columns(count: int) -> tuple[str, ...]:
    return tuple(f"{KEY}{i}" for i in range(count))


def order_fields(names: tuple[str, ...]) -> tuple[Field, ...]:
    return tuple(Field(name, LONG) for name in names)


def renamed(fields: tuple[Field, ...], names: tuple[str, ...] | None = None) -> tuple[tuple[Field, str], ...]:
    """Outputs: columns of the node beside the kernel's names for them; the same ones where none are given."""
    return tuple(zip(fields, names or tuple(f.name for f in fields), strict=True))


def carried(*names: str) -> tuple[tuple[str, str], ...]:
    """Columns that keep their names."""
    return tuple((name, name) for name in names)


def _never(node: Node) -> bool:
    return False


def _allowed(node: Node, ends: int | None) -> None:
    return None


def _accepted(node: Node) -> None:
    return None


def _uncounted(state: State) -> dict[str, int]:
    return {}


class SharedStates(Protocol):
    """How nodes of an operator step for many statements that differ in constants alone, with the number of the
    statement as a further key. `KEEPERS` are its nodes that keep something from step to step."""

    KEEPERS: tuple[type[Node], ...]

    def shared_node(self, node: Node) -> Node | None:
        """The node for many statements; None if this one cannot be shared."""

    def claimed(self, node: Node, state: State, number: int) -> State:
        """The state of one statement as a shared one."""

    def joined(self, node: Node, several: Sequence[State]) -> State:
        """Shared states of different statements as one."""

    def part(self, node: Node, state: State, numbers: Collection[int]) -> State:
        """Of a shared state what belongs to some statements, shared by those."""

    def alone(self, node: Node, state: State, number: int) -> State:
        """Of a shared state what belongs to one statement, as its own kernel keeps it."""

    def open_by_statement(self, node: Node, state: State) -> dict[int, int] | None:
        """How many partial matches of each statement are open; None where there are no matches."""


@dataclass(frozen=True)
class Operator:
    """The running half of a capability: how its nodes run, and what they need of time.

    `stages` compiles a node to its stage, or to another node that yields the same rows. Nodes that are no stages are
    run by `steps`, on tables, and by the `OPERATORS` of the module named `spark`, on DataFrames; that module says why.
    `timers`: time alone can make the node yield rows. `reads_end`: rows of a bounded query depend on where its time
    stops. `check_deployed` refuses what a statement that never ends (`ends` is None) cannot do, `check_stream` what
    nothing can do that takes events as they come. `open_matches` counts the partial matches in a state, by the name of
    its kernel; `counters` reads further figures from a state. `shared`: its nodes may step for many statements at once;
    `apart_from_matches`: not above a node with open matches. `traced` shows the events of each match beside its row, in
    columns that it also gives.
    """

    stages: Mapping[type[Node], Callable[[Any], Stage | Node]] = field(default_factory=dict)
    steps: Mapping[type[Node], Callable[..., Any]] = field(default_factory=dict)
    spark: str = ""
    timers: Callable[[Node], bool] = _never
    reads_end: Callable[[Node], bool] = _never
    check_deployed: Callable[[Node, int | None], None] = _allowed
    check_stream: Callable[[Node], None] = _accepted
    open_matches: Mapping[str, Callable[[State], int]] = field(default_factory=dict)
    counters: Callable[[State], dict[str, int]] = _uncounted
    shared: SharedStates | None = None
    apart_from_matches: tuple[type[Node], ...] = ()
    traced: Mapping[type[Node], Callable[[Any], tuple[Node, tuple[Field, ...]]]] = field(default_factory=dict)
