"""Terms of MEASURES: the columns that the kernel computes, and expressions over them for Catalyst."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from presage.errors import error
from presage.model import types as t
from presage.model.types import DataType
from presage.operators.match.kernel.spec import Fold, Measure, Place
from presage.operators.match.terms import At, Folded, LabelAt, MatchNumber, RowLabel, Variables
from presage.plan import expr as e
from presage.plan.display import show_arguments
from presage.plan.expressible import expressible
from presage.plan.prepared import Prepared
from presage.plan.row_terms import RowValue

FLOAT_BANK, INT_BANK = 1, 0


@dataclass
class Measures:
    """The output columns of the kernel; equal leaves share one."""

    variables: Variables
    prepared: Prepared
    programs: list[e.Expr]
    made: list[Measure] = field(default_factory=list)
    types: list[DataType] = field(default_factory=list)
    _outputs: dict[Hashable, str] = field(default_factory=dict)

    def add(self, expr: e.Expr) -> e.Expr:
        """The expression over the kernel's output columns."""
        if isinstance(expr, At | LabelAt | Folded | MatchNumber):
            return e.ColumnRef(expr.type, self._output(expr), span=expr.span)
        return expr.map_children(self.add)

    def _output(self, leaf: e.Expr) -> str:
        name = self._outputs.get(leaf)
        if name is None:
            name = self._outputs[leaf] = f"_m{len(self.made)}"
            self.made.append(self._measure(leaf, name))
            self.types.append(leaf.type)
        return name

    def _measure(self, leaf: e.Expr, output: str) -> Measure:
        if isinstance(leaf, At):
            return Measure(output, place=leaf.place, column=self.prepared.name(leaf.value))
        if isinstance(leaf, LabelAt):
            return Measure(output, place=leaf.place)
        if isinstance(leaf, Folded):
            return Measure(output, fold=fold_of(leaf, self.variables, self.prepared, self.programs))
        return Measure(output, match_number=True)


def fold_of(folded: Folded, variables: Variables, prepared: Prepared, programs: list[e.Expr]) -> Fold:
    """The specification of an aggregate, with its arguments as columns or as a program."""
    named = folded.args and (folded.constants or not _labelled(folded.args[0]))
    shown = show_arguments(folded.args[0], folded.constants) if named else ""
    if any(isinstance(x, At) for arg in folded.args for x in arg.walk()):
        return _mixed(folded, prepared, programs, shown)
    labels = folded.labels if folded.labels is not None else tuple(range(len(variables.names)))
    columns = [_by_label(arg, labels, variables, prepared) for arg in folded.args]
    return Fold(
        folded.function,
        folded.labels,
        columns[0] if columns else (),
        columns[1] if len(columns) > 1 else (),
        final=folded.final,
        distinct=folded.distinct,
        constants=folded.constants,
        shown=shown,
    )


def _labelled(arg: e.Expr) -> bool:
    return any(isinstance(x, RowLabel | At) for x in arg.walk())


def _by_label(arg: e.Expr, labels: tuple[int, ...], variables: Variables, prepared: Prepared) -> tuple[str, ...]:
    """The argument's column; one for each label if it depends on the row's label."""
    if not _labelled(arg):
        return (prepared.name(arg),)

    def named(label: int) -> e.Expr:
        name = e.Constant(t.STRING, variables.names[label])
        return arg.rewrite(lambda x: name if isinstance(x, RowLabel) else x)

    return tuple(prepared.name(named(label)) for label in labels)


def _mixed(folded: Folded, prepared: Prepared, programs: list[e.Expr], shown: str) -> Fold:
    """An aggregate whose argument also refers to other rows than the counted one."""
    places: list[Place] = [Place(current=True)]

    def leaf(x: e.Expr) -> e.Expr:
        if isinstance(x, At):
            if x.place not in places:
                places.append(x.place)
            return RowValue(x.type, places.index(x.place), prepared.name(x.value), span=x.span)
        if isinstance(x, e.ColumnRef):
            return RowValue(x.type, 0, prepared.name(x), span=x.span)
        return x.map_children(leaf)

    program = leaf(folded.args[0])
    if len(folded.args) > 1 or not t.is_numeric(program.type) or not expressible(program):
        raise error(
            "UNSUPPORTED",
            folded.span,
            what="an aggregate of several variables",
            where="except of a number made by arithmetic",
            fix="aggregate one variable",
        )
    programs.append(program)
    return Fold(
        folded.function,
        folded.labels,
        final=folded.final,
        distinct=folded.distinct,
        constants=folded.constants,
        program=len(programs) - 1,
        places=tuple(places),
        bank=FLOAT_BANK if program.type == t.DOUBLE else INT_BANK,
        shown=shown,
    )
