"""The program of a deployed statement: its optimized plan, time bounds and shards, and properties derived from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from presage.execution.placement import uncomputed
from presage.live.derived import derived_table
from presage.live.plan_template import PlanTemplate, template_of
from presage.model.catalog import EventType
from presage.operators.running import check_stream, deployed_plan, foresees, has_timers, shard_node
from presage.plan.answer_relations import is_answer, is_asked
from presage.plan.expr import ColumnRef, Expr, InRelation
from presage.plan.nodes import Extent, Field, Filter, Node, RelationScan, Scan, Trait, apart, traits_of
from presage.plan.query import BoundQuery, Watched
from presage.select.from_items import event_time_of

FORMAT = 1  # of places and kernels in states; a change invalidates stored states


class InputSignature(NamedTuple):
    """Programs with equal signatures at the same position read the same events up to the same watermark."""

    streams: frozenset[str]
    extents: tuple[Extent, ...]
    upper: int | None
    ends: int | None
    timers: bool
    lags: bool
    foresees: bool


@dataclass(frozen=True)
class Program:
    """A statement that can be stepped. `fingerprint` identifies the plan that stored states belong to."""

    plan: Node
    columns: tuple[Field, ...]
    upper: int | None
    ends: int | None  # at this watermark it has all of its events
    into: EventType | None  # the derived stream of INSERT INTO
    retimed: bool  # its rows become events at a time of their own, not at that of emission
    shards: int
    timers: bool
    catalyst: tuple[Expr, ...]  # expressions that need Catalyst: with one, it runs on the driver
    fingerprint: str
    watched: tuple[Watched, ...]  # attributes whose values should name entities
    uses_knowledge: bool  # its plan or rows depend on the knowledge bases
    places: dict[int, int] = field(repr=False)
    scans: tuple[Scan, ...] = ()

    @property
    def insert_into(self) -> str | None:
        return None if self.into is None else self.into.name

    @property
    def native(self) -> bool:
        """Whether the driver alone can run it: it may need the Spark session, for expressions or for large history."""
        return bool(self.catalyst) or self.reads_history

    @cached_property
    def traits(self) -> Trait:
        return traits_of(self.plan)

    @property
    def reads_history(self) -> bool:
        """Whether it searches history, step by step."""
        return Trait.READS_HISTORY in self.traits

    @property
    def lags(self) -> bool:
        """Whether its rows may be emitted after the watermark has passed their time."""
        return Trait.LAGS in self.traits

    @cached_property
    def foresees(self) -> bool:
        """Whether it emits predictions, and reads events ahead of its watermark."""
        return foresees(self.plan)

    @cached_property
    def repeats(self) -> bool:
        """Whether a replay of the same events gives the same rows."""
        return not (self.foresees or Trait.REVISES in self.traits)

    @property
    def looks_back(self) -> bool:
        """Whether it processes past events before its first event."""
        return Trait.LOOKS_BACK in self.traits

    @cached_property
    def streams(self) -> frozenset[str]:
        """Its input streams: those of the log, and derived ones by the name of their table."""
        named = frozenset(derived_table(scan.stream) if scan.made else scan.stream for scan in self.scans)
        return named.union(*(node.side_streams for node in self.plan.walk()))

    @cached_property
    def signature(self) -> InputSignature:
        extents = tuple(scan.extent for scan in self.scans)
        return InputSignature(self.streams, extents, self.upper, self.ends, self.timers, self.lags, self.foresees)

    @cached_property
    def reads(self) -> tuple[object, ...]:
        """The attributes that it reads; equal ones are mostly one object."""
        return _one_of_equals((*((scan.stream, scan.made, scan.attributes) for scan in self.scans), self.watched))

    @cached_property
    def plain(self) -> bool:
        """Whether its input depends on its signature alone."""
        return self.shards == 1 and not self.reads_others and not self.reads_history

    @cached_property
    def changes_only_counts(self) -> bool:
        """Whether a batch without failures changes only its counters."""
        makes = self.into is not None or self.lags
        return self.plain and self.ends is None and not (makes or self.watched or self.foresees)

    @cached_property
    def reads_others(self) -> bool:
        return any(scan.made for scan in self.scans)

    @cached_property
    def filters(self) -> tuple[tuple[Filter, Scan], ...]:
        """Filters right above scans."""
        filters = (node for node in self.plan.walk() if isinstance(node, Filter))
        return tuple((node, node.input) for node in filters if isinstance(node.input, Scan))

    @cached_property
    def indexed_filter(self) -> tuple[Filter, Scan] | None:
        """The filter right above its only scan, if the predicate index may evaluate it."""
        if len(self.scans) != 1 or self.catalyst or self.scans[0].made or not self.filters:
            return None
        return self.filters[0]

    @cached_property
    def indexed_condition(self) -> Expr | None:
        """That filter's condition on the attributes of the archive, without the aliases of the statement."""
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
        """Whether it queries the knowledge bases, which only the driver can."""
        return any(map(is_asked, self.relations))

    @property
    def joins_knowledge(self) -> bool:
        """Whether the state of a window join depends on answers of the knowledge bases, so that new answers do not fit
        it."""
        return Trait.KEEPS_PAIRS in self.traits and any(map(is_answer, self.relations))

    @cached_property
    def template(self) -> PlanTemplate | None:
        """The template of its plan; None if it cannot share its execution."""
        return None if self.native or len(self.scans) != 1 else template_of(self.plan, self.columns)

    @cached_property
    def keepers(self) -> dict[str, Node]:
        """By place: the nodes whose states are shared by statements of its template."""
        return {str(self.places[id(node)]): node for node in self.template.keepers} if self.template is not None else {}

    def __getstate__(self) -> dict[str, Any]:
        # Places are keyed by the identity of nodes, which a copy in another process does not share.
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("places", "scans")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {**state, **_numbered(state["plan"])}.items():
            object.__setattr__(self, name, value)


def compile_program(bound: BoundQuery, plan: Node, shards: int, into: EventType | None = None) -> Program:
    """The program of a query; `plan` is its optimized plan, `shards` the most shards of its keys."""
    retimed = into is not None and not bound.plan.is_own_time(event_time_of(into, bound.plan))
    plan = apart(deployed_plan(plan, as_events=into is not None))
    check_stream(plan)
    catalyst = uncomputed(plan)
    keyed = shard_node(plan) is not None and not catalyst and Trait.READS_HISTORY not in traits_of(plan)
    shards = shards if keyed else 1
    labels = "\n".join(node.label() for node in plan.walk())
    fingerprint = hashlib.sha256(f"{FORMAT}\n{shards}\n{labels}".encode()).hexdigest()[:16]
    return Program(
        plan,
        bound.columns,
        bound.upper,
        bound.ends,
        into,
        retimed,
        shards,
        has_timers(plan),
        catalyst,
        fingerprint,
        bound.watched,
        bound.knows,
        **_numbered(plan),
    )


def relations_of(plan: Node) -> frozenset[str]:
    """The relations of a plan, with those that hold answers of knowledge bases."""
    named = {n.relation for n in plan.walk() if isinstance(n, RelationScan)}
    for node in plan.walk():
        for expr in (*node.expressions(), *node.kernel_terms()):
            named |= {e.relation for e in expr.walk() if isinstance(e, InRelation)}
    return frozenset(named)


@lru_cache(maxsize=1_024)
def _one_of_equals(reads: tuple[object, ...]) -> tuple[object, ...]:
    return reads


def _numbered(plan: Node) -> dict[str, Any]:
    nodes = list(plan.walk())
    return {
        "places": {id(node): number for number, node in enumerate(nodes)},
        "scans": tuple(node for node in nodes if isinstance(node, Scan)),
    }
