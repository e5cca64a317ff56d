"""The template of a plan: its constants are parameters, so that statements of one template can step as one.

Such a plan is a chain of nodes over one stream: filters, projections, windows, kernels. The filter right above the
stream belongs to the statement: the index of all filters asks it. Constants beside a comparison, in arithmetic or as a
column of their own, and sizes of windows, become columns that hold each statement's own value; all other constants
belong to the template.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from presage.live.shared_state import KEEPERS, STATEMENT, sharable, shared_node
from presage.model.types import LONG
from presage.operators.windows.nodes import Aggregate, Windowed
from presage.plan.expr import Arithmetic, ColumnRef, Comparison, Constant, Expr
from presage.plan.nodes import Field, Filter, Named, Node, Project, Scan, Stamp


@dataclass(frozen=True)
class TemplateInput(Node):
    """The rows of all statements of a form, with the statement's number and its constants."""

    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        return 0


@dataclass(frozen=True)
class BindConstants(Node):
    """Adds the constants of the statement that a row belongs to."""

    input: Node


@dataclass(frozen=True)
class PlanTemplate:
    """`key` is equal for statements of one form. `plan` begins with Given and has `parameter(i)` for `constants[i]`;
    `keepers` are the nodes of the statement's own plan that keep its state, `attributes` what it takes of an event."""

    key: str
    plan: Node
    keepers: tuple[Node, ...]
    attributes: tuple[str, ...]
    constants: tuple[Constant, ...]


def parameter(number: int) -> str:
    return f"#{number}"


def template_of(plan: Node, columns: tuple[Field, ...]) -> PlanTemplate | None:
    """`columns`: those of the statement. None where it must go its own way."""
    chain, scan = _chain(plan)
    if scan is None or scan.made or not sharable(chain) or not any(isinstance(node, Project) for node in chain):
        return None
    if any(isinstance(node, Stamp) for node in chain[1:]):
        return None  # the statement behind a derived stream, with a watermark of its own
    wanted = frozenset(c.name for c in plan.columns)
    for node in chain:
        wanted = node.needs(wanted)
    taken_in = [(f, a) for f, a in zip(scan.fields, scan.attributes, strict=True) if f.name in wanted]
    taken = _Taken([])
    made: Node = TemplateInput((*(f for f, _ in taken_in), Field(STATEMENT, LONG)))
    has_constants = True
    for node in reversed(chain):
        own = _own(node)
        if own is None:
            return None
        before = len(taken.constants)
        shared = taken.from_node(own)
        if len(taken.constants) > before and not has_constants:
            made, has_constants = BindConstants(made), True
        below = made
        made = shared.map_inputs(lambda _, below=below: below)  # type: ignore[misc]
        has_constants = has_constants and isinstance(node, Filter | Windowed | Stamp)
    types = [constant.type for constant in taken.constants]
    attributes = tuple(a for _, a in taken_in)
    # Asked for in every batch: equal keys are one object.
    key = sys.intern(repr((made, scan.stream, attributes, types, columns)))
    keepers = tuple(node for node in chain if isinstance(node, KEEPERS))
    return PlanTemplate(key, made, keepers, attributes, tuple(taken.constants))


def _chain(plan: Node) -> tuple[list[Node], Scan | None]:
    """The nodes from the top down to the filter above the scan, without it, and the scan; None if there are several."""
    chain: list[Node] = []
    node = plan
    while not isinstance(node, Scan):
        if len(node.inputs) != 1:
            return chain, None
        chain.append(node)
        (node,) = node.inputs
    return chain[:-1] if chain and isinstance(chain[-1], Filter) else chain, node


def _own(node: Node) -> Node | None:
    """The node for many statements."""
    if isinstance(node, Project):
        return replace(node, outputs=(*node.outputs, Named(STATEMENT, ColumnRef(LONG, STATEMENT))))
    return node if isinstance(node, Filter | Stamp) else shared_node(node)


def restore_constants(plan: Node, values: Mapping[int, Constant]) -> Node:
    """The plan of a shape with some parameters as constants again: those that all statements have in common."""

    def put_back(expr: Expr) -> Expr:
        if isinstance(expr, ColumnRef) and expr.name.startswith("#") and expr.name[1:].isdigit():
            return values.get(int(expr.name[1:]), expr)
        return expr

    return plan.rewrite(lambda node: node.map_expressions(lambda expr: expr.rewrite(put_back)))


class _Taken:
    """Takes constants out of expressions; a constant's number is its place in `constants`."""

    def __init__(self, constants: list[Constant]) -> None:
        self.constants = constants

    def from_node(self, node: Node) -> Node:
        if isinstance(node, Filter | Project | Windowed):
            return node.map_expressions(self._from_whole)
        if isinstance(node, Aggregate):
            # What the work is spread by is some of what it is grouped by, and must stay so.
            group_by = tuple(Named(g.name, self.from_expression(g.expr)) for g in node.group_by)
            after = {old.expr: new.expr for old, new in zip(node.group_by, group_by, strict=True)}
            aggregates = tuple(Named(a.name, self.from_expression(a.expr)) for a in node.aggregates)
            partition = tuple(after[expr] for expr in node.partition)
            return replace(node, group_by=group_by, aggregates=aggregates, partition=partition)
        if hasattr(node, "prepared"):
            # Programs over several events stay as they are: the form includes them.
            return replace(node, prepared=self._named(node.prepared))  # type: ignore[call-arg]
        return node

    def _named(self, prepared: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(
            Named(n.name, self.from_expression(n.expr)) if isinstance(n, Named) else self._named(n)  # type: ignore[arg-type]
            for n in prepared
        )

    def _from_whole(self, expr: Expr) -> Expr:
        """A constant that stands alone is one, too."""
        return self._take(expr) if isinstance(expr, Constant) else self.from_expression(expr)

    def from_expression(self, expr: Expr) -> Expr:
        return expr.rewrite(self._change)

    def _change(self, expr: Expr) -> Expr:
        return expr.map_children(self._take) if isinstance(expr, Comparison | Arithmetic) else expr

    def _take(self, expr: Expr) -> Expr:
        if not isinstance(expr, Constant) or expr.value is None:
            return expr
        self.constants.append(expr)
        return ColumnRef(expr.type, parameter(len(self.constants) - 1))
