"""The template of a plan: its constants are parameters, so that statements of one template can step as one.

Such a plan is a chain of nodes over one stream: filters, projections, windows, kernels. The filter right above the
stream is not a part of it: the predicate index of all statements evaluates it. Constants in comparisons and arithmetic
or as a whole column, and sizes of windows, become columns with each statement's own value; all other constants belong
to the template.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from presage.errors import error
from presage.execution.stage import STATEMENT, StateSharing
from presage.model.types import LONG
from presage.operators.running import has_own_matches, operator_of
from presage.plan.expr import Arithmetic, ColumnRef, Comparison, Constant, Expr
from presage.plan.nodes import Field, Filter, Named, Node, Project, Scan, Stamp, Trait


@dataclass(frozen=True)
class TemplateInput(Node):
    """The input rows of all statements of a template, with the statement's number and its constants."""

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
    """`key` is equal for statements of one template. `plan` reads a TemplateInput and has `parameter(i)` for
    `constants[i]`; `keepers` are the stateful nodes of the statement's own plan, `attributes` those that it reads."""

    key: str
    plan: Node
    keepers: tuple[Node, ...]
    attributes: tuple[str, ...]
    constants: tuple[Constant, ...]


def parameter(number: int) -> str:
    return f"#{number}"


def template_of(plan: Node, columns: tuple[Field, ...]) -> PlanTemplate | None:
    """`columns`: those of the statement. None if it cannot share its execution."""
    chain, scan = _chain(plan)
    if scan is None or scan.made or not _is_sharable(chain) or not any(isinstance(node, Project) for node in chain):
        return None
    if any(isinstance(node, Stamp) for node in chain[1:]):
        return None  # the statement behind a derived stream, with a watermark of its own
    needed = frozenset(c.name for c in plan.columns)
    for node in chain:
        needed = node.needs(needed)
    read = [(f, a) for f, a in zip(scan.fields, scan.attributes, strict=True) if f.name in needed]
    extractor = _ConstantExtractor([])
    template: Node = TemplateInput((*(f for f, _ in read), Field(STATEMENT, LONG)))
    has_constants = True
    for node in reversed(chain):
        own = _for_many(node)
        if own is None:
            return None
        before = len(extractor.constants)
        shared = extractor.from_node(own)
        if len(extractor.constants) > before and not has_constants:
            template, has_constants = BindConstants(template), True
        below = template
        template = shared.map_inputs(lambda _, below=below: below)  # type: ignore[misc]
        has_constants = has_constants and Trait.PASSES_COLUMNS in node.traits
    types = [constant.type for constant in extractor.constants]
    attributes = tuple(a for _, a in read)
    # Interned: keys are compared in every batch.
    key = sys.intern(repr((template, scan.stream, attributes, types, columns)))
    keepers = tuple(node for node in chain if keeps_state(node))
    return PlanTemplate(key, template, keepers, attributes, tuple(extractor.constants))


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


def _for_many(node: Node) -> Node | None:
    """The node for many statements; None if it cannot be shared."""
    if isinstance(node, Project):
        return replace(node, outputs=(*node.outputs, Named(STATEMENT, ColumnRef(LONG, STATEMENT))))
    return node if isinstance(node, Filter | Stamp) else _shared_node(node)


def restore_constants(plan: Node, values: Mapping[int, Constant]) -> Node:
    """The plan of a template with some parameters as constants again: those that are equal in all statements."""

    def put_back(expr: Expr) -> Expr:
        if isinstance(expr, ColumnRef) and expr.name.startswith("#") and expr.name[1:].isdigit():
            return values.get(int(expr.name[1:]), expr)
        return expr

    return plan.rewrite(lambda node: node.map_expressions(lambda expr: expr.rewrite(put_back)))


class _ConstantExtractor:
    """Replaces constants of expressions by parameters; the number of a parameter is its index in `constants`."""

    def __init__(self, constants: list[Constant]) -> None:
        self.constants = constants

    def from_node(self, node: Node) -> Node:
        return node.map_terms(self._from_whole, self.from_expression)

    def _from_whole(self, expr: Expr) -> Expr:
        """An expression that is a constant itself becomes a parameter, too."""
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


def _is_sharable(chain: Sequence[Node]) -> bool:
    """Whether these nodes, each over the next, can run for many statements."""
    apart = any(type(node) in operator_of(node).apart_from_matches for node in chain)
    return not (apart and any(has_own_matches(node) for node in chain))


def _shared_node(node: Node) -> Node | None:
    """The node for many statements; None if this one cannot be shared."""
    shared = operator_of(node).shared
    return None if shared is None else shared.shared_node(node)


def keeps_state(node: Node) -> bool:
    """Whether the node is stateful."""
    shared = operator_of(node).shared
    return shared is not None and isinstance(node, shared.KEEPERS)


def sharing(node: Node) -> StateSharing:
    """How the operator of a stateful node shares its states."""
    shared = operator_of(node).shared
    if shared is not None and isinstance(node, shared.KEEPERS):
        return shared
    raise error("INTERNAL", what=f"{type(node).__name__} keeps no state that statements share")
