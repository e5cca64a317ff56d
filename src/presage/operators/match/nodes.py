"""The logical node of MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from presage.model.time import format_duration
from presage.operators.match.kernel.spec import Fold, MatchTables
from presage.plan.display import show
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Named, Node
from presage.plan.row_terms import RowValue


def within_text(tables: MatchTables) -> str:
    """The period of WITHIN or INTERVAL."""
    return format_duration(tables.within or 0, tables.within_months)


def gap_text(tables: MatchTables) -> str:
    return format_duration(tables.gap or 0, tables.gap_months)


@dataclass(frozen=True)
class Match(Node):
    """MATCH_RECOGNIZE. `prepared` are columns over single rows, computed before the automaton; `programs` are
    conditions and terms over several rows (leaves: RowValue, HostValue), to which `tables` refers by number.

    Columns: the partition's, then those that ALL ROWS PER MATCH carries, then what `tables.measures` name.
    """

    input: Node
    prepared: tuple[Named, ...]
    programs: tuple[Expr, ...]
    tables: MatchTables
    made: tuple[Field, ...]  # types of the measures' columns
    text: str = ""  # the pattern in the user's words

    @property
    def columns(self) -> tuple[Field, ...]:
        types = {n.name: n.expr.type for n in self.prepared}
        kept = (*self.tables.keys, *self.tables.carry)
        return (*(Field(name, types[name]) for name in kept), *self.made)

    @property
    def depth(self) -> int:
        # Order columns: arrival of the match's last and first row, and a number among the rows of one moment.
        return self.input.depth + 3

    def expressions(self) -> tuple[Expr, ...]:
        # Programs are not over columns of the input.
        return tuple(n.expr for n in self.prepared)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(x.columns() for x in self.expressions()))

    def kernel_terms(self) -> tuple[Expr, ...]:
        return self.programs

    def narrowed(self, wanted: frozenset[str]) -> Node:
        tables = self.tables
        measures = tuple(m for m in tables.measures if m.output in wanted)
        carry = tuple(c for c in tables.carry if c in wanted)
        narrow = replace(
            self,
            tables=replace(
                tables,
                measures=measures,
                carry=carry,
                shown_time=tables.shown_time if tables.shown_time in wanted else None,
            ),
            made=tuple(f for f in self.made if f.name in wanted),
        )
        used = narrow.used_columns()
        return replace(narrow, prepared=tuple(n for n in self.prepared if n.name in used))

    def used_columns(self) -> frozenset[str]:
        """The prepared columns that the tables and programs refer to."""
        tables = self.tables
        used = {*tables.keys, *tables.carry, *(name for name, _ in tables.sort), tables.event_time}
        for condition in tables.conditions:
            used |= {condition.flag} if condition.flag else set()
            used |= {column for _, column in condition.asked_columns}
            for fold in condition.folds:
                used |= _fold_columns(fold)
        for measure in tables.measures:
            used |= {measure.column} if measure.column else set()
            used |= _fold_columns(measure.fold) if measure.fold else set()
        for program in self.programs:
            used |= {x.column for x in program.walk() if isinstance(x, RowValue)}
        return frozenset(used)

    def label(self) -> str:
        tables = self.tables
        bounds = f" within {within_text(tables)}" if tables.within is not None else ""
        bounds += f" gap {gap_text(tables)}" if tables.gap is not None else ""
        by_name = {n.name: n.expr for n in self.prepared}
        by = f" by [{', '.join(show(by_name[k]) for k in tables.keys)}]" if tables.keys else ""
        conditions = "; ".join(c.text for c in tables.conditions if c.text)
        return f"Match ({self.text}){bounds}{by}, {_ROWS[tables.rows]}" + (f" [{conditions}]" if conditions else "")


_ROWS = {
    "one": "a row per match",
    "all": "all rows of a match",
    "all_omit": "all rows of a match, none for an empty one",
    "all_unmatched": "all rows, matched or not",
}


def _fold_columns(fold: Fold) -> set[str]:
    return {*fold.columns, *fold.by}
