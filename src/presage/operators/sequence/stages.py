"""Stages and kernels of sequences over uncertain streams, and of the inference of such streams."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import supports
from presage.columnar.key_hashes import hashes_of_several
from presage.columnar.row_programs import EvaluatorPredicates
from presage.errors import error
from presage.execution.stage import Operator, Stage, StageInput, key_columns, order_fields, renamed
from presage.model.arrow import to_arrow
from presage.model.operator_state import State
from presage.operators.sequence.classify import STEPWISE
from presage.operators.sequence.inference.kernel import STEPWISE as INFERRED_STEPWISE
from presage.operators.sequence.inference.kernel import WholeKernel, inference_kernel
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.particle_filter import ParticleKernel
from presage.operators.sequence.kernel.hidden_markov.spec import Columns
from presage.operators.sequence.kernel.sequence import ORDINAL, SequenceKernel
from presage.operators.sequence.kernel.spec import SOURCE
from presage.operators.sequence.nodes import Infer, SequenceMatch
from presage.plan.nodes import TIME, Field, Node


def sequence_stage(node: SequenceMatch) -> Stage:
    spread = node.spread_by()
    return Stage(
        node,
        tuple(
            StageInput(source, node.prepared[i], keys=spread[i] if spread else (), number=i)
            for i, source in enumerate(node.sources)
        ),
        lambda resources: sequence_kernel(node, resources.relations),
        made=(*order_fields((ORDINAL,)), *node.columns),
        outputs=(*renamed(order_fields(node.order), (ORDINAL,)), *renamed(node.columns)),
        depth=0,
        sort=(SOURCE,),
        keys=key_columns(len(spread[0]) if spread else 0),
        numbered=SOURCE,
    )


def infer_stage(node: Infer) -> Stage:
    shown, kinds = dict(node.shown), {f.name: f.type for f in node.fields}
    names = tuple(TIME if f.name in node.times else shown[f.name] for f in node.fields)
    return Stage(
        node,
        (StageInput(node.input, node.prepared),),
        lambda resources: infer_kernel(node),
        made=(*order_fields((ORDINAL,)), *(Field(name, kinds[column]) for column, name in node.shown)),
        outputs=(*renamed(order_fields(node.order), (ORDINAL,)), *renamed(node.fields, names)),
        depth=0,
        sort=(),
        keys=node.key,
        shards=False,
    )


def _is_stepped(node: Node) -> bool:
    """A step is evaluated when the watermark has passed it."""
    return isinstance(node, SequenceMatch | Infer)


def _check_deployed(node: Node, ends: int | None) -> None:
    """A method that is not stepwise keeps all rows, so a deployed statement needs an end."""
    if ends is not None:
        return
    if isinstance(node, Infer) and node.method not in INFERRED_STEPWISE:
        where = "in a statement that never ends: it looks at all readings"
        fix = "infer with FILTER or PARTICLES, or add WITHIN with an upper bound"
        raise error("UNSUPPORTED", what=f"INFERENCE by {node.method.upper()}", where=where, fix=fix)
    if isinstance(node, SequenceMatch) and (node.tables.method != STEPWISE or node.tables.by is not None):
        by, kind = node.tables.by, node.verdict.kind
        what = f"SEQUENCE […] BY {by.upper()}" if by else f"a sequence that is {kind}"
        if not by and node.tables.stepwise:
            what = "a sequence that reads several Markov chains at once"
        where = "in a statement that never ends: its state would grow for ever"
        raise error("UNSUPPORTED", what=what, where=where, fix="add WITHIN with an upper bound, or ask it as a query")


def _counted_readings(state: State) -> dict[str, int]:
    """Counters of a filter: ignored readings, and restarts of its particles."""
    return dict(state.numbers) if state.kernel in (FilterKernel.name, ParticleKernel.name) else {}


def sequence_kernel(node: SequenceMatch, relations: Mapping[str, pa.Table]) -> SequenceKernel:
    for condition in node.conditions:
        if not supports(condition):
            what, fix = "a function that only Spark computes", "use it on one subgoal at a time"
            raise error("UNSUPPORTED", condition.span, what=what, where="over several subgoals", fix=fix)
    oracle = EvaluatorPredicates(dict(enumerate(node.conditions)), dict(relations)) if node.conditions else None
    tables = node.tables
    goals = " ; ".join(goal.text for goal in tables.query.goals)
    seed = seed_of(f"{goals} {tables.query.selected} {tables.error} {tables.confidence}")
    return SequenceKernel(tables, tuple(field.name for field in node.made), oracle, seed, _names)


def _names(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    return hashes_of_several(columns, rows).view(np.int64)


def seed_of(statement: str) -> int:
    """The seed of a statement's random numbers: the same in every run, different for other statements."""
    return int.from_bytes(hashlib.blake2b(statement.encode(), digest_size=8).digest(), "big", signed=True)


def infer_kernel(node: Infer) -> FilterKernel | WholeKernel:
    kinds = {name: f.type for f in node.fields for column, name in node.shown if column == f.name}
    columns = Columns(node.key, node.observes, node.attribute, to_arrow(kinds[node.attribute]))
    seed = seed_of(f"{node.name} {node.key} {node.attribute} {node.particles}")
    return inference_kernel(node.model, columns, node.method, node.particles, node.markov, seed)


OPERATOR = Operator(
    stages={SequenceMatch: sequence_stage, Infer: infer_stage},
    timers=_is_stepped,
    reads_end=_is_stepped,
    check_deployed=_check_deployed,
    counters=_counted_readings,
)
