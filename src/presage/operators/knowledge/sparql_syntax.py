"""The syntax tree of a SPARQL 1.1 group graph pattern, the text inside `PATH { … }`.

Immutable. IRIs are full; collections, `;`, `,` and `[ … ]` are triples already; spans do not count in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from presage.model.text import NOWHERE, Span
from presage.operators.knowledge.namespaces import XSD_STRING


class SparqlError(Exception):
    """The text is no group graph pattern, or not a supported one. `span` is the place in the user's text."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes. `span` is the node's place in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def variables(self) -> frozenset[str]:
        """The names of all variables, those of nested groups and sub-selects included."""
        names: set[str] = set()
        for node in walk(self):
            if isinstance(node, Var):
                names.add(node.name)
            elif isinstance(node, SubSelect):
                names |= node.mentioned
        return frozenset(names)


# -- terms -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Var(Node):
    """`?name` or `$name`, which are the same variable."""

    name: str


@dataclass(frozen=True)
class Iri(Node):
    value: str


@dataclass(frozen=True)
class Literal(Node):
    """`lexical` is as written, not canonical: `01` differs from `1`. A language tag is in lower case."""

    lexical: str
    datatype: str = XSD_STRING
    language: str | None = None


@dataclass(frozen=True)
class Blank(Node):
    """A blank node of a pattern: a variable without a name, local to its basic graph pattern."""

    label: str


Term: TypeAlias = Var | Iri | Literal | Blank


# -- property paths ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inverse(Node):
    """`^path`."""

    path: Path


@dataclass(frozen=True)
class Sequence(Node):
    """`path / path / …`."""

    steps: tuple[Path, ...]


@dataclass(frozen=True)
class Alternative(Node):
    """`path | path | …`."""

    choices: tuple[Path, ...]


@dataclass(frozen=True)
class ZeroOrMore(Node):
    """`path*`."""

    path: Path


@dataclass(frozen=True)
class OneOrMore(Node):
    """`path+`."""

    path: Path


@dataclass(frozen=True)
class ZeroOrOne(Node):
    """`path?`."""

    path: Path


@dataclass(frozen=True)
class NegatedSet(Node):
    """`!(p | ^q)`: any property but these: forwards if `forward` is not empty, backwards if `inverse` is not."""

    forward: tuple[Iri, ...]
    inverse: tuple[Iri, ...] = ()


Path: TypeAlias = Iri | Inverse | Sequence | Alternative | ZeroOrMore | OneOrMore | ZeroOrOne | NegatedSet


# -- expressions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Or(Node):
    """`a || b || …`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class And(Node):
    """`a && b && …`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Not(Node):
    operand: Expression


@dataclass(frozen=True)
class Neg(Node):
    """`-a`; the sign of a numeric literal belongs to the literal."""

    operand: Expression


@dataclass(frozen=True)
class Pos(Node):
    """`+a`, which is an error where `a` is no number."""

    operand: Expression


@dataclass(frozen=True)
class Compare(Node):
    """`=`, `!=`, `<`, `>`, `<=` or `>=`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Arith(Node):
    """`+`, `-`, `*` or `/`. `?x -1` is the sum of `?x` and the literal `-1`, as in the grammar."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class In(Node):
    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Call(Node):
    """A built-in by its name in capitals (URI and ISURI as IRI and ISIRI), or a cast by its IRI.

    Aggregates occur in sub-selects only: `COUNT(*)` has no argument, GROUP_CONCAT's second one is its separator.
    """

    name: str | Iri
    args: tuple[Expression, ...] = ()
    distinct: bool = False


@dataclass(frozen=True)
class Exists(Node):
    group: Group
    negated: bool = False


Expression: TypeAlias = Var | Iri | Literal | Or | And | Not | Neg | Pos | Compare | Arith | In | Call | Exists


# -- patterns ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Triple(Node):
    subject: Term
    predicate: Var | Path
    object: Term


@dataclass(frozen=True)
class Filter(Node):
    expression: Expression


@dataclass(frozen=True)
class Bind(Node):
    expression: Expression
    variable: Var


@dataclass(frozen=True)
class Values(Node):
    """Inline data: each row has a term per variable, None for UNDEF."""

    columns: tuple[Var, ...]
    rows: tuple[tuple[Iri | Literal | None, ...], ...]


@dataclass(frozen=True)
class Optional(Node):
    group: Group


@dataclass(frozen=True)
class Union(Node):
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Minus(Node):
    group: Group


@dataclass(frozen=True)
class SubGroup(Node):
    group: Group


@dataclass(frozen=True)
class SubSelect(Node):
    """`SELECT … WHERE { … } …`, alone in its group. `head` and `tail` are the text before and after its own group,
    with full IRIs; `projected` are its visible variables; `mentioned` are the variables of head and tail."""

    head: str
    group: Group
    tail: str = ""
    projected: tuple[str, ...] = ()
    mentioned: frozenset[str] = frozenset()


Element: TypeAlias = Triple | Filter | Bind | Values | Optional | Union | Minus | SubGroup | SubSelect


@dataclass(frozen=True)
class Group(Node):
    """The elements between braces, in order, but filters last: a filter holds for its whole group."""

    elements: tuple[Element, ...] = ()


# -- walking and changing ----------------------------------------------------------------------------


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the text."""
    pending: list[Any] = list(reversed(vars(node).values()))
    while pending:
        value = pending.pop()
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple) and not isinstance(value, Span):
            pending.extend(reversed(value))


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, from the top, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


N = TypeVar("N", bound=Node)


def mapped(node: N, function: Callable[[Node], Node]) -> N:
    """The tree with every node replaced by the function's result, from the leaves up.

    The inside of a sub-select stays as it is: its head and tail are text.
    """
    if isinstance(node, SubSelect):
        return function(node)  # type: ignore[return-value]
    changes: dict[str, Any] = {}
    for name, value in vars(node).items():
        new = _mapped(value, function)
        if new is not value:
            changes[name] = new
    return function(replace(node, **changes) if changes else node)  # type: ignore[return-value]


def _mapped(value: Any, function: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return mapped(value, function)
    if isinstance(value, tuple) and not isinstance(value, Span):
        new = []
        for item in value:  # no comprehension: it would be one more frame per level
            new.append(_mapped(item, function))
        return value if all(a is b for a, b in zip(new, value, strict=True)) else tuple(new)
    return value


def visible(node: Group | Element) -> frozenset[str]:
    """The variables that the pattern can bind, as seen from outside of it (SPARQL 1.1, 18.2.1)."""
    match node:
        case Triple():
            return node.variables()
        case Bind():
            return frozenset([node.variable.name])
        case Values():
            return frozenset(column.name for column in node.columns)
        case SubSelect():
            return frozenset(node.projected)
        case Optional() | SubGroup():
            return visible(node.group)
        case Union():
            return frozenset().union(*map(visible, node.groups))
        case Group():
            return frozenset().union(*map(visible, node.elements))
        case Filter() | Minus():
            return frozenset()
