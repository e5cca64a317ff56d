"""EPL patterns as a stage: one input for each event type of the pattern."""

from __future__ import annotations

from presage.execution.stage import Operator, Stage, StageInput, key_columns, order_fields, renamed
from presage.operators.epl import sharing
from presage.operators.epl.compile import pattern_kernel
from presage.operators.epl.kernel.pattern import KERNEL, open_matches
from presage.operators.epl.kernel.spec import SOURCE, STATEMENT
from presage.operators.epl.nodes import PatternMatch
from presage.operators.epl.tracing import traced
from presage.plan.nodes import Node, order_columns


def pattern_stage(node: PatternMatch) -> Stage:
    order = order_columns(node.depth - 1)
    placed = (*order, node.tables.ordinal)
    keyed = any(node.partition)
    return Stage(
        node,
        tuple(
            StageInput(source, node.prepared[i], keys=node.partition[i] if keyed else (), number=i)
            for i, source in enumerate(node.sources)
        ),
        lambda resources: pattern_kernel(node, resources.relations),
        made=(*order_fields(placed), *node.columns),
        outputs=(*renamed(order_fields(node.order), placed), *renamed(node.columns)),
        depth=len(order),
        sort=(*order, SOURCE),
        keys=(*key_columns(len(node.partition[0]) if keyed else 0), *((STATEMENT,) if node.tables.shared else ())),
        numbered=SOURCE,
        wakes_empty=True,
    )


def _has_timers(node: Node) -> bool:
    """An interval turns true by time alone. A guard only ends terms: that makes something true only where a NOT, which
    is true from its start, is started again. Elsewhere the end of a guard can wait for the next event."""
    if not isinstance(node, PatternMatch):
        return False
    kinds = {term.kind for term in node.tables.nodes}
    return "interval" in kinds or ("not" in kinds and bool(kinds & {"within", "distinct"}))


OPERATOR = Operator(
    stages={PatternMatch: pattern_stage},
    timers=_has_timers,
    reads_end=lambda node: isinstance(node, PatternMatch),
    open_matches={KERNEL: open_matches},
    shared=sharing,
    traced={PatternMatch: traced},
)
