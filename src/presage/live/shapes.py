"""A plan in, its form without its constants out: statements of one form can be stepped together.

Such a plan is one kernel over one stream, with filters and projections above it. Constants beside a comparison or in
arithmetic become columns that hold each statement's own value; all other constants belong to the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from presage.live.rooms import STATEMENT, shared_node
from presage.model.types import LONG
from presage.plan.expr import Arithmetic, ColumnRef, Comparison, Constant, Expr
from presage.plan.nodes import Field, Filter, Named, Node, Project, Scan, Stamp

_ABOVE = (Stamp, Project, Filter)


@dataclass(frozen=True)
class Given(Node):
    """The rows of all statements of a form, with the statement's number and its constants."""

    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        return 0


@dataclass(frozen=True)
class Constants(Node):
    """Adds the constants of the statement that a row belongs to."""

    input: Node


@dataclass(frozen=True)
class Shape:
    """`key` is equal for statements of one form. `plan` begins with Given and has `parameter(i)` for `constants[i]`;
    `kernel` is the node of the statement's own plan that keeps its state."""

    key: str
    plan: Node
    kernel: Node
    constants: tuple[Constant, ...]


def parameter(number: int) -> str:
    return f"#{number}"


def shape_of(plan: Node) -> Shape | None:
    """None where a statement must go its own way."""
    above: list[Node] = []
    node = plan
    while isinstance(node, _ABOVE):
        above.append(node)
        (node,) = node.inputs
    kernel, shared = node, shared_node(node)
    below = kernel.inputs[0] if len(kernel.inputs) == 1 else None
    scan = below.input if isinstance(below, Filter) else below
    if shared is None or not isinstance(scan, Scan) or scan.made:
        return None
    taken = _Taken([])
    made = taken.from_kernel(shared).map_inputs(lambda _: Given(scan.fields))
    made = Constants(made)
    for node in reversed(above):
        made = node.map_inputs(lambda _, below=made: below)  # type: ignore[misc]
        made = made.map_expressions(taken.from_expression)
        if isinstance(made, Project):
            made = replace(made, outputs=(*made.outputs, Named(STATEMENT, ColumnRef(LONG, STATEMENT))))
    if not any(isinstance(node, Project) for node in above):
        return None
    types = [constant.type for constant in taken.constants]
    return Shape(repr((made, scan.stream, scan.attributes, types)), made, kernel, tuple(taken.constants))


def with_constants(plan: Node, values: Mapping[int, Constant]) -> Node:
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

    def from_kernel(self, node: Node) -> Node:
        # Programs over several events stay as they are: the form includes them.
        prepared = getattr(node, "prepared", ())
        return replace(node, prepared=self._named(prepared))  # type: ignore[call-arg]

    def _named(self, prepared: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(
            Named(n.name, self.from_expression(n.expr)) if isinstance(n, Named) else self._named(n)  # type: ignore[arg-type]
            for n in prepared
        )

    def from_expression(self, expr: Expr) -> Expr:
        return expr.rewrite(self._change)

    def _change(self, expr: Expr) -> Expr:
        return expr.map_children(self._take) if isinstance(expr, Comparison | Arithmetic) else expr

    def _take(self, expr: Expr) -> Expr:
        if not isinstance(expr, Constant) or expr.value is None:
            return expr
        self.constants.append(expr)
        return ColumnRef(expr.type, parameter(len(self.constants) - 1))
