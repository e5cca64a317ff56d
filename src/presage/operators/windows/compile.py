"""Tables of the window kernels, compiled from logical nodes: prepared columns, partition keys, the kernel's tables."""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.windows.infer_keys import equalities
from presage.operators.windows.kernel import spec
from presage.operators.windows.nodes import NO_WINDOW, Aggregate, WindowDef, Windowed, WindowJoin, source_of
from presage.plan.display import show_arguments
from presage.plan.expr import AggregateCall, ColumnRef, Comparison, Expr, conjunction, conjuncts
from presage.plan.nodes import Field, Filter, Named, Node, RelationScan, order_columns


@dataclass(frozen=True)
class AggregateStage:
    """An Aggregate over one windowed source: `prepared` columns of `input` go into the kernel."""

    input: Node
    prepared: tuple[Named, ...]
    partition: tuple[str, ...]
    window: spec.Window
    group_by: tuple[str, ...]
    aggregates: tuple[spec.Aggregate, ...]
    carry: tuple[str, ...]
    grouped: bool
    outputs: tuple[Field, ...]
    apart: bool  # events that are aggregated together are in one group of the window


@dataclass(frozen=True)
class JoinSourceStage:
    """One source of a join: `prepared` columns of `input`; a relation has no window and no time."""

    input: Node
    prepared: tuple[Named, ...]
    window: spec.Window
    partition: tuple[str, ...]
    static: bool


@dataclass(frozen=True)
class JoinStage:
    """A WindowJoin: equalities become links of the kernel, `residual` is the condition that remains."""

    sources: tuple[JoinSourceStage, ...]
    links: tuple[tuple[int, tuple[str, ...], int, tuple[str, ...]], ...]
    residual: Expr | None
    has_pass: bool


def compile_aggregate(node: Aggregate) -> AggregateStage:
    """The stage of an Aggregate, over a window or over the changes of a join."""
    join, window = source_of(node)
    below, passing, _ = (node.input, [], NO_WINDOW) if join is not None else peel_window(node.input)
    prepared: list[Named] = []
    groups = _prepare(prepared, "_g", tuple(g.expr for g in node.group_by))
    kernel_window = _prepare_window(prepared, window, "")
    aggregates = []
    for i, named in enumerate(node.aggregates):
        call = named.expr
        assert isinstance(call, AggregateCall)
        column, shown = None, ""
        if call.arg is not None:
            column, shown = f"_x{i}", show_arguments(call.arg, call.constants)
            prepared.append(Named(column, call.arg))
        aggregates.append(spec.Aggregate(call.function, column, named.name, call.distinct, shown, call.constants))
    _prepare_pass(prepared, passing)
    carried = tuple(c for c in node.input.columns if c.name in node.carry)
    by_expr = {g.expr: name for g, name in zip(node.group_by, groups, strict=True)}
    partition, carry = tuple(by_expr[p] for p in node.partition), tuple(c.name for c in carried)
    outputs = (*carried, *(Field(a.name, a.expr.type) for a in node.aggregates))
    apart = all(g in by_expr for g in window.group if not _own_name(g))
    columns, calls, grouped = tuple(prepared), tuple(aggregates), bool(node.group_by) or node.row_per == "window"
    return AggregateStage(below, columns, partition, kernel_window, groups, calls, carry, grouped, outputs, apart)


def compile_join(node: WindowJoin) -> JoinStage:
    """The stage of a join of two or more sources."""
    links: dict[tuple[int, int], tuple[list[str], list[str]]] = {}
    keys: list[list[Named]] = [[] for _ in node.sources]
    linked: set[int] = set()
    for number, ((left, left_expr), (right, right_expr)) in enumerate(equalities(node)):
        names = (f"_k{number}l", f"_k{number}r")
        keys[left].append(Named(names[0], left_expr))
        keys[right].append(Named(names[1], right_expr))
        pair = links.setdefault((left, right), ([], []))
        pair[0].append(names[0])
        pair[1].append(names[1])
        linked.add(id(_conjunct(node, left_expr, right_expr)))
    rest = conjunction([c for c in conjuncts(node.condition) if id(c) not in linked])
    partition = node.partition or tuple(() for _ in node.sources)
    sources = tuple(_source_stage(i, source, keys[i], partition[i]) for i, source in enumerate(node.sources))
    return JoinStage(
        sources,
        tuple((left, tuple(lc), right, tuple(rc)) for (left, right), (lc, rc) in links.items()),
        rest,
        has_pass=any(p.name == spec.PASS for s in sources for p in s.prepared),
    )


def _conjunct(node: WindowJoin, left: Expr, right: Expr) -> Expr:
    return next(
        c for c in conjuncts(node.condition) if isinstance(c, Comparison) and c.left is left and c.right is right
    )


def _source_stage(number: int, source: Node, keys: list[Named], partition: tuple[Expr, ...]) -> JoinSourceStage:
    prepared = list(keys)
    if isinstance(source, RelationScan):
        return JoinSourceStage(source, tuple(prepared), spec.Window(NO_WINDOW.kind), (), static=True)
    below, passing, window = peel_window(source)
    kernel_window = _prepare_window(prepared, window, str(number))
    names = _prepare(prepared, f"_p{number}_", partition)
    _prepare_pass(prepared, passing)
    return JoinSourceStage(below, tuple(prepared), kernel_window, names, static=False)


def peel_window(node: Node) -> tuple[Node, list[Expr], WindowDef]:
    """The node below a window, the conditions above it, and the window; without a window, the node itself."""
    passing: list[Expr] = []
    below = node
    while isinstance(below, Filter):
        passing = conjuncts(below.condition) + passing
        below = below.input
    if isinstance(below, Windowed):
        return below.input, passing, below.window
    return node, [], NO_WINDOW


def _prepare(prepared: list[Named], prefix: str, exprs: tuple[Expr, ...]) -> tuple[str, ...]:
    names = tuple(_own_name(x) or f"{prefix}{i}" for i, x in enumerate(exprs))
    prepared.extend(Named(n, x) for n, x in zip(names, exprs, strict=True) if not _own_name(x))
    return names


def _prepare_pass(prepared: list[Named], passing: list[Expr]) -> None:
    condition = conjunction(passing)
    if condition is not None:
        prepared.append(Named(spec.PASS, condition))


def _own_name(expr: Expr) -> str:
    """The number of a statement in a shared execution has a name of its own: it is carried, and it is the same key
    everywhere."""
    return spec.STATEMENT if isinstance(expr, ColumnRef) and expr.name == spec.STATEMENT else ""


def _prepare_window(prepared: list[Named], window: WindowDef, suffix: str) -> spec.Window:
    by = _prepare(prepared, f"_by{suffix}_", window.by)
    group = _prepare(prepared, f"_in{suffix}_", window.group)
    sizes = ""
    if window.sized_by is not None:
        sizes = spec.SIZE
        prepared.append(Named(sizes, window.sized_by))
    return spec.Window(window.kind, window.size, by, group, sizes, window.offset, window.slide)


def fields_of(named: tuple[Named, ...]) -> list[Field]:
    """Prepared expressions as columns."""
    return [Field(n.name, n.expr.type) for n in named]


def identity_of(node: WindowJoin) -> tuple[str, ...]:
    """Columns that identify a tuple: time, arrival and order of each member."""
    names: list[str] = []
    for number, source in enumerate(node.sources):
        if isinstance(source, RelationScan):
            names.append(f"_row{number}")
        else:
            names += [f"_t{number}", f"_seq{number}"]
            names.extend(f"_o{number}_{o}" for o in order_columns(node.depth - 1))
    return tuple(names)
