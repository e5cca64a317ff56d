"""Logical nodes of windows, their aggregates and joins, DISTINCT and output rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from presage.model.time import format_duration
from presage.model.types import LONG
from presage.operators.windows.window_types import FOREVER, SESSION, START, NoWindow, Time, WindowType, window_type
from presage.plan.display import show
from presage.plan.expr import AggregateCall, Expr, conjunction, conjuncts
from presage.plan.nodes import Field, Filter, Named, Node, RelationScan, Trait


@dataclass(frozen=True)
class WindowDef:
    """A bound window: `size` in microseconds or events; `by` are its keys, `group` those of groupwin.

    `sized_by` replaces `size` where statements of different sizes share an execution. `offset`: of #tumble; `slide`: of
    #hop.
    """

    kind: str
    size: int = 0
    by: tuple[Expr, ...] = ()
    group: tuple[Expr, ...] = ()
    sized_by: Expr | None = None
    offset: int = 0
    slide: int = 0

    @property
    def is_batch(self) -> bool:
        return self.type.is_batch

    @property
    def type(self) -> WindowType:
        return window_type(self.kind)

    def spelling(self) -> str:
        if self == MOMENT:
            return "of its own moment"
        keys = ", ".join(map(show, self.by))
        further = [format_duration(each) for each in (self.offset, self.slide) if each]
        further += [keys] if keys and self.type.is_sized else []
        arguments = ", ".join([self.type.arguments(self.size, keys), *further])
        own = f"#{self.kind}({arguments})" if arguments else f"#{self.kind}"
        return (f"#groupwin({', '.join(map(show, self.group))})" if self.group else "") + own


SESSION_START = Field(START, LONG)
# The window of an event with RECALL that has none of its own: it is joined with events of its time, and no later ones.
MOMENT = WindowDef(Time.name, 1)


@dataclass(frozen=True)
class Windowed(Node):
    """Events under a window. The columns are the input's; sessions add their start."""

    input: Node
    window: WindowDef

    @property
    def columns(self) -> tuple[Field, ...]:
        return (*self.input.columns, *([SESSION_START] if self.window.type.retention == SESSION else []))

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return super().needs(wanted) - {START}

    @property
    def traits(self) -> Trait:
        # The end of input closes the open span, whose rows have the time of its end.
        return Trait.PASSES_COLUMNS | (Trait.RUNS_AHEAD if self.window.type.has_bounds else Trait.NONE)

    def map_terms(self, whole: Callable[[Expr], Expr], part: Callable[[Expr], Expr]) -> Node:
        return self.map_expressions(whole)

    def expressions(self) -> tuple[Expr, ...]:
        sized_by = self.window.sized_by
        return (*self.window.by, *self.window.group, *(() if sized_by is None else (sized_by,)))

    def map_expressions(self, change: Callable[[Expr], Expr]) -> Node:
        window = self.window
        by, group = (tuple(map(change, part)) for part in (window.by, window.group))
        sized_by = None if window.sized_by is None else change(window.sized_by)
        if by == window.by and group == window.group and sized_by == window.sized_by:
            return self
        return replace(self, window=replace(window, by=by, group=group, sized_by=sized_by))

    def absorb(self, condition: Expr) -> Node | None:
        if not self.window.type.time_only:
            return None
        return replace(self, input=Filter(self.input, condition))

    def is_own_time(self, column: str) -> bool:
        return self.input.is_own_time(column)

    def label(self) -> str:
        return f"Window {self.window.spelling()}"


@dataclass(frozen=True)
class WindowJoin(Node):
    """Tuples of one row from each source, while all are in their windows; OUTPUT SNAPSHOT also of one source alone.
    `condition` covers ON and conjuncts of WHERE
    over several items. `partition`: for each source, the expressions that tie it to the others (see infer_keys)."""

    sources: tuple[Node, ...]
    condition: Expr | None
    partition: tuple[tuple[Expr, ...], ...] = ()

    @property
    def traits(self) -> Trait:
        windows = (node.window.type for node in self.walk() if isinstance(node, Windowed))
        return Trait.KEEPS_PAIRS if any(window.retention != FOREVER for window in windows) else Trait.NONE

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(c for s in self.sources for c in s.columns)

    @property
    def depth(self) -> int:
        return max(s.depth for s in self.streams) + 1

    @property
    def streams(self) -> tuple[Node, ...]:
        return tuple(s for s in self.sources if not isinstance(s, RelationScan))

    def release(self) -> tuple[Node, Expr | None]:
        return replace(self, condition=None), self.condition

    def absorb(self, condition: Expr) -> Node:
        """A condition on one stream moves to that stream; others become part of the join's condition."""
        for i, source in enumerate(self.sources):
            if not isinstance(source, RelationScan) and condition.columns() <= source.column_names():
                return replace(self, sources=(*self.sources[:i], Filter(source, condition), *self.sources[i + 1 :]))
        return replace(self, condition=conjunction([*conjuncts(self.condition), condition]))

    def label(self) -> str:
        name = "Join" if len(self.sources) > 1 else "Held"
        return f"{name}{' on ' + show(self.condition) if self.condition is not None else ''}"


@dataclass(frozen=True)
class Aggregate(Node):
    """Aggregates over the events in the window, one row per arriving event, group, batch or window (`row_per`).
    `at_end`: over what a join holds at the end of input, one row per tuple, group or, as `batch`, for all.

    `carry` are columns of the input that a row takes from its event (the last event of the group). `partition` are the
    expressions by which the node can be partitioned (see infer_keys).
    """

    input: Node
    group_by: tuple[Named, ...]
    aggregates: tuple[Named, ...]  # each an AggregateCall
    carry: tuple[str, ...]
    row_per: str  # event group batch window
    partition: tuple[Expr, ...] = ()
    at_end: bool = False

    def map_terms(self, whole: Callable[[Expr], Expr], part: Callable[[Expr], Expr]) -> Node:
        # The partition key is a part of the grouping key, and must stay one.
        group_by = tuple(Named(g.name, part(g.expr)) for g in self.group_by)
        after = {old.expr: new.expr for old, new in zip(self.group_by, group_by, strict=True)}
        aggregates = tuple(Named(a.name, part(a.expr)) for a in self.aggregates)
        partition = tuple(after[expr] for expr in self.partition)
        return replace(self, group_by=group_by, aggregates=aggregates, partition=partition)

    @property
    def columns(self) -> tuple[Field, ...]:
        carried = tuple(c for c in self.input.columns if c.name in self.carry)
        return carried + tuple(Field(a.name, a.expr.type) for a in self.aggregates)

    @property
    def depth(self) -> int:
        _, window = source_of(self)
        return self.input.depth + (1 if window.is_batch else 0)

    def calls(self) -> tuple[AggregateCall, ...]:
        return tuple(a.expr for a in self.aggregates if isinstance(a.expr, AggregateCall))

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset(self.carry).union(*(e.columns() for e in self.expressions()))

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return replace(
            self,
            carry=tuple(c for c in self.carry if c in wanted),
            aggregates=tuple(a for a in self.aggregates if a.name in wanted),
        )

    def is_own_time(self, column: str) -> bool:
        join, window = source_of(self)
        # Rows of a batch are emitted when it closes, those of a join when the last of its events arrives.
        return join is None and not window.is_batch and column in self.carry and self.input.is_own_time(column)

    def label(self) -> str:
        made = ", ".join(f"{show(a.expr)} AS {a.name}" for a in self.aggregates)
        by = f" by [{', '.join(show(g.expr) for g in self.group_by)}]" if self.group_by else ""
        return f"Aggregate [{made}]{by}, a row per {self.row_per}{' at the end of input' if self.at_end else ''}"


@dataclass(frozen=True)
class Distinct(Node):
    """Rows whose `by` columns have not occurred before."""

    input: Node
    by: tuple[str, ...]

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return wanted | frozenset(self.by)

    def is_own_time(self, column: str) -> bool:
        return self.input.is_own_time(column)

    def label(self) -> str:
        return f"Distinct [{', '.join(self.by)}]"


@dataclass(frozen=True)
class Output(Node):
    """OUTPUT (ALL | LAST | FIRST) EVERY d; LAST and FIRST per group of `by`. Yields `keep` only. OUTPUT LAST at the end
    of input has 0 as `every`."""

    input: Node
    mode: str
    every: int
    by: tuple[str, ...]
    keep: tuple[str, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return tuple(c for c in self.input.columns if c.name in self.keep)

    @property
    def traits(self) -> Trait:
        # The end of input ends the open interval, whose rows have the time of its end.
        return Trait.RUNS_AHEAD if self.every else Trait.NONE

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset(self.keep) | frozenset(self.by)

    def narrowed(self, wanted: frozenset[str]) -> Node:
        return replace(self, keep=tuple(c for c in self.keep if c in wanted))

    def label(self) -> str:
        by = f" by [{', '.join(self.by)}]" if self.by else ""
        return f"Output {self.mode} {self.when}{by}"

    @property
    def when(self) -> str:
        return f"every {format_duration(self.every)}" if self.every else "at the end of input"

    @property
    def depth(self) -> int:
        return self.input.depth + 1


NO_WINDOW = WindowDef(NoWindow.name)


def source_of(node: Node) -> tuple[WindowJoin | None, WindowDef]:
    """The source of an Aggregate below filters: a join, or a window (NO_WINDOW without a Windowed node)."""
    below: Node = node.inputs[0]
    while isinstance(below, Filter):
        below = below.input
    if isinstance(below, WindowJoin):
        return below, NO_WINDOW
    if isinstance(below, Windowed):
        return None, below.window
    return None, NO_WINDOW
