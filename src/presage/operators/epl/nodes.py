"""The logical node of an EPL pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace

from presage.operators.epl.kernel.spec import PatternTables
from presage.plan.display import show
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Named, Node
from presage.plan.row_terms import RowValue


@dataclass(frozen=True)
class PatternMatch(Node):
    """PATTERN […] over one source for each event type in it; `prepared` and `partition` are by source.

    Columns: those of `tables.shown`. `partition`: the prepared columns of the key that all events of a match share (see
    rule infer_pattern_keys), or nothing.
    """

    sources: tuple[Node, ...]
    prepared: tuple[tuple[Named, ...], ...]
    programs: tuple[Expr, ...]
    tables: PatternTables
    made: tuple[Field, ...]
    partition: tuple[tuple[str, ...], ...] = ()
    filtered: bool = False  # events that pass no filter are dropped (see rule drop_idle_events)
    text: str = ""

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.made

    @property
    def depth(self) -> int:
        return max(s.depth for s in self.sources) + 1

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(n.expr for part in self.prepared for n in part)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(x.columns() for x in self.expressions()))

    def kernel_terms(self) -> tuple[Expr, ...]:
        return self.programs

    def narrowed(self, wanted: frozenset[str]) -> Node:
        shown = tuple(s for s in self.tables.shown if s.output in wanted)
        narrow = replace(
            self, tables=replace(self.tables, shown=shown), made=tuple(f for f in self.made if f.name in wanted)
        )
        used = narrow.used_columns()
        kept = tuple(tuple(n for n in part if n.name in used) for part in self.prepared)
        columns = tuple(tuple(c for c in part if c in used) for part in narrow.tables.columns)
        return replace(narrow, prepared=kept, tables=replace(narrow.tables, columns=columns))

    def used_columns(self) -> frozenset[str]:
        """The prepared columns that the tables and programs refer to."""
        used = {s.column for s in self.tables.shown}
        used |= {name for part in self.partition for name in part}
        for node in self.tables.nodes:
            used |= {node.flag} if node.flag else set()
            used |= {column for _, column in node.asked_columns}
        for program in self.programs:
            used |= {x.column for x in program.walk() if isinstance(x, RowValue)}
        return frozenset(used)

    def label(self) -> str:
        by = f" by [{', '.join(map(show, self.key_of(0)))}]" if any(self.partition) else ""
        return f"Pattern [{self.text}]{by}"

    def key_of(self, source: int) -> tuple[Expr, ...]:
        """The key expressions of a source."""
        by_name = {n.name: n.expr for n in self.prepared[source]}
        return tuple(by_name[name] for name in self.partition[source])
