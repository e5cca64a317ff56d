"""The placement of bounded queries: in this process, or on Spark.

A Spark job costs a tenth of a second before its first row, and a session seconds; past a size, executors are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from presage.columnar.compile import supports_node
from presage.errors import error
from presage.plan.display import show
from presage.plan.expr import AggregateCall, Expr
from presage.plan.nodes import Node
from presage.storage import FileSet

PLACEMENTS = ("auto", "local", "spark")
# The most events, and bytes of their files, that `auto` runs in this process: benchmarks/placement.py shows the curves.
MOST_ROWS, MOST_BYTES = 4_000_000, 1 << 29


class Placement(NamedTuple):
    """Where a query runs, and why."""

    local: bool
    why: str

    def section(self) -> str:
        """As EXPLAIN shows it."""
        return f"== Placement ==\n{'in this process' if self.local else 'on Spark'}: {self.why}"


def check_placement(placement: str) -> str:
    if placement not in PLACEMENTS:
        expected = ", ".join(f"'{each}'" for each in PLACEMENTS)
        raise error("BAD_VALUE", what="placement", found=f"'{placement}'", expected=f"one of {expected}")
    return placement


def place(
    plan: Node, files: Iterable[FileSet] | None, placement: str, most_rows: int, needs_spark: Callable[[Node], str]
) -> Placement:
    """`files`: None if they are not known. `needs_spark`: why the operators of a plan cannot run in this process; empty
    if they can."""
    if placement == "spark":
        return Placement(False, "the engine was opened with placement='spark'")
    why = needs_spark(plan) or _uncomputed(plan)
    if why:
        return Placement(False, why)
    most = min(most_rows, MOST_ROWS)
    if files is None:
        return Placement(True, f"up to {most:,} events")
    sets = list(files)
    rows, size = sum(each.rows for each in sets), sum(each.bytes for each in sets)
    if placement == "local":
        return Placement(True, f"{rows:,} events")
    if rows > most:
        return Placement(False, f"{rows:,} events are more than {most:,}")
    if size > MOST_BYTES:
        return Placement(False, f"files of {size:,} bytes are more than {MOST_BYTES:,}")
    return Placement(True, f"{rows:,} events are at most {most:,}")


def is_computed(expr: Expr) -> bool:
    """Whether the evaluator computes it. Kernels compute aggregates; their arguments are expressions like others."""
    return all(isinstance(part, AggregateCall) or supports_node(part) for part in expr.walk())


def uncomputed(plan: Node) -> tuple[Expr, ...]:
    """The expressions of a plan that only Catalyst computes."""
    return tuple(expr for node in plan.walk() for expr in node.expressions() if not is_computed(expr))


def _uncomputed(plan: Node) -> str:
    return next((f"only Spark computes {show(expr)}" for expr in uncomputed(plan)), "")
