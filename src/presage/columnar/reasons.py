"""Why-not reports, in one form for all operators: each condition, the values that it compared, whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.model.arrow import to_arrow
from presage.model.json_values import plain_column
from presage.plan.display import show
from presage.plan.expr import And, ColumnRef, Expr, Or, conjuncts
from presage.plan.nodes import Scan

Values = Callable[[Expr], pa.Array | None]
Named = Callable[[Expr, Any], Any]
# Outcomes of a chance. The first four are about the event, the last about the match that it could have joined.
TAKEN, FAILS, UNTOLD, DENIES = "takes it", "fails", "unknown", "ends it"
OVER = "expired"


@dataclass(frozen=True)
class Answer:
    """One condition as the user wrote it. `holds` is None where it cannot be computed; `values` are the compared terms,
    as written, with their values as JSON."""

    text: str
    holds: bool | None
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Bound:
    """An event of the match so far: its name in the pattern, its time, its attributes."""

    name: str
    time: int
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chance:
    """A part of the pattern that the event could have matched: `of` names it (a filter, a variable, a subgoal),
    `so_far` are the events of the match so far."""

    of: str
    so_far: tuple[Bound, ...]
    answers: tuple[Answer, ...]
    outcome: str
    further: str = ""


@dataclass(frozen=True)
class Reasons:
    """The report on one event. `what`: the part of the statement; `notes`: further findings, and gaps."""

    what: str
    chances: tuple[Chance, ...] = ()
    notes: tuple[str, ...] = ()


def merged(answers: Iterable[Answer]) -> list[Answer]:
    """One answer for each text that the user wrote: BETWEEN becomes two comparisons."""
    found: dict[str, Answer] = {}
    for answer in answers:
        known = found.setdefault(answer.text, answer)
        if known is not answer:
            holds = [known.holds, answer.holds]
            together = False if False in holds else None if None in holds else True
            found[answer.text] = Answer(answer.text, together, tuple(dict([*known.values, *answer.values]).items()))
    return list(found.values())


def outcome_of(answers: Sequence[Answer]) -> str:
    """A condition that is NULL fails."""
    if any(answer.holds is False for answer in answers):
        return FAILS
    return UNTOLD if any(answer.holds is None for answer in answers) else TAKEN


@dataclass
class Examiner:
    """Tests conditions on single rows. `text`: the source that the spans of expressions refer to."""

    evaluator: Evaluator
    text: str
    _kept: list[Expr] = field(default_factory=list)

    def answers(self, condition: Expr, value_of: Values, named: Named = lambda _, value: value) -> list[Answer]:
        """One answer for each part of a condition that the user wrote. `value_of` returns the value of a leaf, as an
        array of one; None for other terms. `named` converts a value for display."""
        return merged(self._answer(part, value_of, named) for part in conjuncts(condition))

    def keep(self, expr: Expr) -> None:
        """Keeps a reference as long as the evaluator, which caches expressions by identity."""
        self._kept.append(expr)

    def _answer(self, part: Expr, value_of: Values, named: Named) -> Answer:
        columns: dict[str, pa.Array] = {}
        shown: dict[str, Any] = {}
        # Each half of a BETWEEN has the span of the whole, whose value it is not.
        junctions = {x.span for x in part.walk() if isinstance(x, And | Or)}

        def leaf(x: Expr) -> Expr:
            found = value_of(x)
            if found is None:
                return x
            name = f"v{len(columns)}"
            columns[name] = found.cast(to_arrow(x.type))
            if x.span is None or x.span not in junctions:
                shown.setdefault(self.words(x), named(x, plain_column(pa.chunked_array([found]))[0]))
            return ColumnRef(x.type, name)

        made = part.rewrite(leaf)
        self.keep(made)
        # Without leaves the condition is constant; the table still needs one row.
        table = pa.table(columns or {"_": pa.nulls(1)})
        computable = self.evaluator.computes(made) and columns.keys() >= made.columns()
        holds = bool(self.evaluator.mask(made, table)[0]) if computable else None
        return Answer(self.words(part), holds, tuple(shown.items()))

    def words(self, expr: Expr) -> str:
        """An expression as the user wrote it, on one line."""
        if expr.span is not None and expr.span.end > expr.span.start:
            return " ".join(self.text[expr.span.start : expr.span.end].split())
        if isinstance(expr, ColumnRef):
            return expr.name.rpartition(".")[2].removeprefix("~")
        try:
            return show(expr).replace("~", "")
        except TypeError:  # an operator's own leaf has no notation
            return "a term over several events"


def row_values(table: pa.Table, row: int) -> Values:
    """Looks up columns in one row of a table."""

    def value_of(x: Expr) -> pa.Array | None:
        if isinstance(x, ColumnRef) and x.name in table.column_names:
            return table[x.name].slice(row, 1).combine_chunks()
        return None

    return value_of


def shown_row(table: pa.Table, row: int) -> dict[str, Any]:
    """The attributes of an event of a scan, by their names, as JSON values."""
    part = table.slice(row, 1)
    names = [name for name in part.column_names if not name.startswith("_")]
    return {name.rpartition(".")[2].removeprefix("~"): plain_column(part[name])[0] for name in names}


def of_key(table: pa.Table, keys: Sequence[str], values: Sequence[Any]) -> pa.Table:
    """The rows with this key; NULL equals NULL, and NaN equals NaN."""
    keep = np.ones(table.num_rows, np.bool_)
    for name, value in zip(keys, values, strict=True):
        same = [found == value or (found != found and value != value) for found in table[name].to_pylist()]
        keep &= np.array(same, np.bool_)
    return table.filter(pa.array(keep))


@dataclass(frozen=True)
class ScanConditions:
    """The conditions of a statement on the events of one scan; `of`: the event of a pattern that is meant."""

    scan: Scan
    conditions: tuple[Expr, ...]
    of: str = ""
