"""Local execution of a select over a small chunk of history, in this process.

Spark takes longer to plan a job than a chunk takes to read, and the first answer should be early. Only plain selects
run locally: one stream or none, and terms that can be evaluated on Arrow. Others, and large chunks, run on Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.vectors import one_array
from presage.execution.steps import OperatorStates, StepContext, run
from presage.operators.recall.answers import ARRIVED, WHEN
from presage.operators.recall.kernel.store import rows_before
from presage.operators.recall.nodes import Select
from presage.operators.recall.partial import Aggregate, parts_of
from presage.operators.recall.questions import BEFORE, EVENT, HIGH, LOW, Questions, counted_out
from presage.plan.expr import AggregateCall, ColumnRef, Comparison, Expr, InRelation, conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Project, Scan
from presage.storage import FileSet
from presage.storage.event_reader import read_events

# The most events that are read locally, and the most pairs of an event and a question.
MOST_ROWS, MOST_PAIRS = 4_000_000, 8_000_000


@dataclass(frozen=True)
class Plain:
    """A select that can run locally: conditions on rows alone, equalities of rows and questions, and conditions on
    both."""

    node: Node
    own: tuple[Expr, ...]
    ties: tuple[tuple[Expr, Expr], ...]  # of the row, of the question
    both: tuple[Expr, ...]
    window: int | None  # only rows so far before the end of a question's span


def plain_select(select: Select, nodes: Sequence[Node]) -> Plain | None:
    """The select, if it can run locally."""
    if len(select.sources) != 1 or not select.sources[0].is_stream or select.subqueries or select.windows:
        return None
    source = select.sources[0]
    assert source.number is not None
    node = nodes[source.number]
    exprs = [e for e in select.own_expressions() if not isinstance(e, AggregateCall)]
    exprs += [e.arg for e in select.own_expressions() if isinstance(e, AggregateCall) and e.arg is not None]
    if not is_plain(node) or not _computed(exprs) or source.on is not None:
        return None
    own, ties, both = [], [], []
    for part in conjuncts(select.where):
        tie = _tie(part, select.parameters)
        if tie is not None:
            ties.append(tie)
        elif part.columns() & select.parameters:
            both.append(part)
        else:
            own.append(part)
    return Plain(node, tuple(own), tuple(ties), tuple(both), source.window)


def is_plain(node: Node) -> bool:
    """Whether the rows of a stream can be computed locally."""
    simple = all(isinstance(part, Scan | Filter | Project) for part in node.walk())
    return simple and _computed([e for part in node.walk() for e in part.expressions()])


def _computed(exprs: Sequence[Expr]) -> bool:
    return all(supports(e) and not any(isinstance(x, InRelation) for x in e.walk()) for e in exprs)


def _tie(part: Expr, parameters: frozenset[str]) -> tuple[Expr, Expr] | None:
    """Both sides of an equality between the row and the event."""
    if not isinstance(part, Comparison) or part.op != "=" or part.left.type != part.right.type:
        return None
    for row, event in ((part.left, part.right), (part.right, part.left)):
        if event.columns() and event.columns() <= parameters and row.columns() and not row.columns() & parameters:
            return row, event
    return None


def ask_here(
    select: Select, plain: Plain, files: FileSet, asked: Questions, aggregates: Sequence[Aggregate] | None
) -> pa.Table | None:
    """Answers as of `left_join.Ask`; None if there are too many rows. `aggregates`: for answers in parts."""
    if files.rows > MOST_ROWS:
        return None
    evaluator = Evaluator({})
    rows = rows_here(plain.node, files, evaluator)
    for condition in plain.own:
        rows = rows.filter(pa.array(evaluator.mask(condition, rows)))
    found = _pairs(plain, rows, asked, evaluator)
    if found is None:
        return None
    rows, question, row = found
    pairs = rows.take(pa.array(row))
    keep = pairs[SEQ].to_numpy() < asked.table[BEFORE].to_numpy()[question]
    for name in sorted(select.parameters):
        pairs = pairs.append_column(name, one_array(asked.table[name]).take(pa.array(question)))
    pairs, question = pairs.filter(pa.array(keep)), question[keep]
    for condition in plain.both:
        mask = evaluator.mask(condition, pairs)
        pairs, question = pairs.filter(pa.array(mask)), question[mask]
    return _answers(select, pairs, asked.table[EVENT].to_numpy()[question], aggregates, evaluator)


def reads_event_alone(select: Select) -> bool:
    """Whether it selects from the event alone, with terms that can be evaluated here."""
    others = select.sources or select.subqueries or select.grouped or select.windows
    return not others and _computed(list(select.own_expressions()))


def ask_event(select: Select, asked: Questions) -> pa.Table | None:
    """Answers of a select over the event alone; None if it is not, or cannot run locally."""
    if not reads_event_alone(select):
        return None
    evaluator, rows = Evaluator({}), asked.table
    if select.where is not None:
        rows = rows.filter(pa.array(evaluator.mask(select.where, rows)))
    terms = (*select.outputs, *select.sort)
    made = evaluator.columns([o.expr for o in terms], rows)
    return pa.table({EVENT: rows[EVENT]} | {o.name: array for o, array in zip(terms, made, strict=True)})


def rows_here(node: Node, files: FileSet, evaluator: Evaluator) -> pa.Table:
    """The events of the files, as rows of the select's source."""
    (scan,) = (part for part in node.walk() if isinstance(part, Scan))
    read = read_events(files, scan.attributes)
    named = {TIME: read[TIME], SEQ: read[SEQ]}
    named |= {f.name: read[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
    context = StepContext(
        read=lambda scan: pa.table(named),
        evaluator=evaluator,
        relations={},
        operators={},
        places={id(part): number for number, part in enumerate(node.walk())},
        states=OperatorStates(),
        watermark=0,
        inner_watermark=0,
    )
    return run(node, context).table


def _pairs(plain: Plain, rows: pa.Table, asked: Questions, evaluator: Evaluator) -> tuple[pa.Table, Ints, Ints] | None:
    """Rows, and pairs of a question and a row in its span with equal ties; None if there are too many."""
    matching, asking = np.ones(rows.num_rows, np.bool_), np.ones(asked.count, np.bool_)
    codes = np.zeros(rows.num_rows + asked.count, np.int64)
    if plain.ties:
        wanted = evaluator.columns([event for _, event in plain.ties], asked.table)
        first = plain.ties[0][0]
        if isinstance(first, ColumnRef) and not pa.types.is_floating(wanted[0].type):
            # Most rows match no question: filter them before anything is computed.
            rows = rows.filter(pc.is_in(rows[first.name], value_set=wanted[0].drop_null()))
        found = evaluator.columns([row for row, _ in plain.ties], rows)
        codes, _ = equality_codes(
            [pa.chunked_array([f, w], f.type) for f, w in zip(found, wanted, strict=True)], rows.num_rows + asked.count
        )
        matching = np.logical_and.reduce([f.is_valid().to_numpy(zero_copy_only=False) for f in found])
        asking = np.logical_and.reduce([w.is_valid().to_numpy(zero_copy_only=False) for w in wanted])
    places, at = np.flatnonzero(matching), rows[TIME].to_numpy()
    own, others = codes[: rows.num_rows], codes[rows.num_rows :]
    order = places[np.lexsort((at[places], own[places]))]
    low, high = asked.table[LOW].to_numpy(), asked.table[HIGH].to_numpy()
    low = low if plain.window is None else np.maximum(low, high - plain.window)
    start = rows_before(own[order], at[order], others, low)
    counts = np.where(asking, np.maximum(rows_before(own[order], at[order], others, high) - start, 0), 0)
    if counts.sum() > MOST_PAIRS:
        return None
    question, within = counted_out(counts)
    return rows, question, order[start[question] + within]


def _answers(
    select: Select, pairs: pa.Table, event: Ints, aggregates: Sequence[Aggregate] | None, evaluator: Evaluator
) -> pa.Table:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {EVENT: pa.array(event, pa.int64())}
    if not select.grouped:
        terms = (*select.outputs, *select.sort)
        made = evaluator.columns([o.expr for o in terms], pairs)
        columns |= {o.name: array for o, array in zip(terms, made, strict=True)}
        return pa.table(columns | {WHEN: pairs[TIME], ARRIVED: pairs[SEQ]})
    assert aggregates is not None
    groups = evaluator.columns([g.expr for g in select.groups], pairs)
    columns |= {g.name: array for g, array in zip(select.groups, groups, strict=True)}
    args = [c.expr.arg for c in select.calls if isinstance(c.expr, AggregateCall)]
    names = [None if arg is None else f"x{i}" for i, arg in enumerate(args)]
    values = evaluator.columns([arg for arg in args if arg is not None], pairs)
    columns |= dict(zip([name for name in names if name is not None], values, strict=True))
    table = pa.table(columns | {WHEN: pairs[TIME], ARRIVED: pairs[SEQ]})
    keys = [EVENT, *(g.name for g in select.groups)]
    return parts_of(table, keys, list(zip(aggregates, names, strict=True)), WHEN, ARRIVED)
