"""The program of a deployed statement: its plan, the bounds of its time, its shards, and what they imply."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from presage.columnar.compile import supports_node
from presage.live.derived import derived_table
from presage.live.plan_template import PlanTemplate, template_of
from presage.model.catalog import EventType
from presage.operators.knowledge.library import is_answer, is_asked
from presage.operators.recall.deployed import has_similar, lags, recalls, revises, standing, waited_for
from presage.operators.running import check_stream, foresees, has_timers, shard_node
from presage.operators.windows.nodes import Windowed, WindowJoin
from presage.plan.expr import AggregateCall, ColumnRef, Expr, InRelation
from presage.plan.nodes import Extent, Field, Filter, Node, RelationScan, Scan
from presage.plan.query import BoundQuery, Watched
from presage.select.from_items import event_time_of

FORMAT = 1  # of the places and kernels that states belong to; a change makes old states useless


class InputSignature(NamedTuple):
    """Programs for which this is equal, and that are at one place, take in the same events up to the same time."""

    streams: frozenset[str]
    extents: tuple[Extent, ...]
    upper: int | None
    ends: int | None
    timers: bool
    lags: bool
    foresees: bool


@dataclass(frozen=True)
class Program:
    """A statement that can be stepped. `fingerprint` tells whether stored states belong to it."""

    plan: Node
    columns: tuple[Field, ...]
    upper: int | None
    ends: int | None  # once time is known up to here, no more events can come
    into: EventType | None  # the derived stream that it fills
    retimed: bool  # its rows become events at a time of their own, not when they are made
    shards: int
    timers: bool
    foreign: tuple[Expr, ...]  # expressions that need Catalyst: with one, it runs on the driver
    fingerprint: str
    watched: tuple[Watched, ...]  # attributes whose values should name entities
    uses_knowledge: bool  # its plan or its rows depend on what the knowledge bases say
    places: dict[int, int] = field(repr=False)
    scans: tuple[Scan, ...] = ()

    @property
    def insert_into(self) -> str | None:
        return None if self.into is None else self.into.name

    @property
    def native(self) -> bool:
        return bool(self.foreign) or self.recalls

    @cached_property
    def recalls(self) -> bool:
        """Whether its rows are made by asking the archive, in turns."""
        return recalls(self.plan)

    @cached_property
    def lags(self) -> bool:
        """Whether rows that others take in come later than their time."""
        return lags(self.plan)

    @cached_property
    def foresees(self) -> bool:
        """Whether it tells rows before they are settled, and so looks at events that lie beyond its watermark."""
        return foresees(self.plan)

    @cached_property
    def repeats(self) -> bool:
        """Whether it makes the same rows again from the same events, whenever it looks at them."""
        return not (self.foresees or revises(self.plan))

    @cached_property
    def looks_back(self) -> bool:
        """Whether it has something to do before its first event: past events are computed."""
        return has_similar(self.plan)

    @cached_property
    def streams(self) -> frozenset[str]:
        """What it waits for: streams of the log, and those that other statements fill, by the name of their table."""
        named = frozenset(derived_table(scan.stream) if scan.made else scan.stream for scan in self.scans)
        return named | waited_for(self.plan)

    @cached_property
    def signature(self) -> InputSignature:
        extents = tuple(scan.extent for scan in self.scans)
        return InputSignature(self.streams, extents, self.upper, self.ends, self.timers, self.lags, self.foresees)

    @cached_property
    def reads(self) -> tuple[object, ...]:
        """What it wants to know of the events that it takes in; for programs that want the same, mostly one object."""
        return _one_of_equals((*((scan.stream, scan.made, scan.attributes) for scan in self.scans), self.watched))

    @cached_property
    def plain(self) -> bool:
        """Whether what it does in a batch follows from what it asks alone."""
        return self.shards == 1 and not self.reads_others and not self.recalls

    @cached_property
    def changes_only_counts(self) -> bool:
        """Whether a batch changes no more of it than what is counted, where all goes as usual."""
        makes = self.into is not None or self.lags
        return self.plain and self.ends is None and not (makes or self.watched or self.foresees)

    @cached_property
    def reads_others(self) -> bool:
        return any(scan.made for scan in self.scans)

    @cached_property
    def filters(self) -> tuple[tuple[Filter, Scan], ...]:
        """Filters right above scans."""
        found = (node for node in self.plan.walk() if isinstance(node, Filter))
        return tuple((node, node.input) for node in found if isinstance(node.input, Scan))

    @cached_property
    def indexed_filter(self) -> tuple[Filter, Scan] | None:
        """The filter right above its only scan, where an index of many statements may ask it."""
        if len(self.scans) != 1 or self.foreign or self.scans[0].made or not self.filters:
            return None
        ((node, scan),) = self.filters
        return node, scan

    @cached_property
    def indexed_condition(self) -> Expr | None:
        """That filter's condition, on attributes as the archive names them: statements use different aliases."""
        if self.indexed_filter is None:
            return None
        node, scan = self.indexed_filter
        names = {f.name: a for f, a in zip(scan.fields, scan.attributes, strict=True)}

        def renamed(e: Expr) -> Expr:
            return ColumnRef(e.type, names[e.name]) if isinstance(e, ColumnRef) and e.name in names else e

        return node.condition.rewrite(renamed)

    @cached_property
    def relations(self) -> frozenset[str]:
        return relations_of(self.plan)

    @property
    def queries_store(self) -> bool:
        """Whether it asks something of the knowledge bases that only the driver can answer."""
        return any(is_asked(name) for name in self.relations)

    @property
    def joins_knowledge(self) -> bool:
        """Whether a window join keeps what it made by answers of the knowledge bases: it could not take that back by
        other answers."""
        joins = [node for node in self.plan.walk() if isinstance(node, WindowJoin)]
        windows = [node.window.kind for join in joins for node in join.walk() if isinstance(node, Windowed)]
        return any(kind != "keepall" for kind in windows) and any(is_answer(name) for name in self.relations)

    @cached_property
    def template(self) -> PlanTemplate | None:
        """What it has in common with statements that differ in constants alone; None if it goes its own way."""
        return None if self.native or len(self.scans) != 1 else template_of(self.plan, self.columns)

    @cached_property
    def keepers(self) -> dict[str, Node]:
        """By place: its nodes that keep what statements of one form have in common; none if it goes its own way."""
        return {str(self.places[id(node)]): node for node in self.template.keepers} if self.template is not None else {}

    def __getstate__(self) -> dict[str, Any]:
        # Places go by the identity of nodes, which a copy in another process does not share.
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("places", "scans")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {**state, **_numbered(state["plan"])}.items():
            object.__setattr__(self, name, value)


def compile_program(bound: BoundQuery, plan: Node, shards: int, into: EventType | None = None) -> Program:
    """The program of a query; `plan` is its optimized plan, `shards` how many parts its keys may be dealt into."""
    retimed = into is not None and not bound.plan.is_own_time(event_time_of(into, bound.plan))
    plan = _apart(standing(plan, as_events=into is not None))
    check_stream(plan)
    foreign = tuple(e for node in plan.walk() for e in node.expressions() if not _computed_here(e))
    keyed = shard_node(plan) is not None and not foreign and not recalls(plan)
    spread = shards if keyed else 1
    shape = "\n".join(node.label() for node in plan.walk())
    fingerprint = hashlib.sha256(f"{FORMAT}\n{spread}\n{shape}".encode()).hexdigest()[:16]
    return Program(
        plan,
        bound.columns,
        bound.upper,
        bound.ends,
        into,
        retimed,
        spread,
        has_timers(plan),
        foreign,
        fingerprint,
        bound.watched,
        bound.knows,
        **_numbered(plan),
    )


def relations_of(plan: Node) -> frozenset[str]:
    """The relations that a plan asks, those that hold answers of knowledge bases included."""
    named = {n.relation for n in plan.walk() if isinstance(n, RelationScan)}
    for node in plan.walk():
        for expr in (*node.expressions(), *node.kernel_terms()):
            named |= {e.relation for e in expr.walk() if isinstance(e, InRelation)}
    return frozenset(named)


@lru_cache(maxsize=1_024)
def _one_of_equals(reads: tuple[object, ...]) -> tuple[object, ...]:
    return reads


def _computed_here(expr: Expr) -> bool:
    # Aggregates are the kernels' own work; what they aggregate is an expression like others.
    return all(isinstance(e, AggregateCall) or supports_node(e) for e in expr.walk())


def _apart(plan: Node) -> Node:
    """The plan with every node an object of its own: a node's place, and so its state, goes by identity."""
    return replace(plan.map_inputs(_apart))


def _numbered(plan: Node) -> dict[str, Any]:
    nodes = list(plan.walk())
    return {
        "places": {id(node): number for number, node in enumerate(nodes)},
        "scans": tuple(node for node in nodes if isinstance(node, Scan)),
    }
