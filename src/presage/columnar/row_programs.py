"""The programs of a node over several rows, and the conditions that only the evaluator can compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.programs import CodeBuilder
from presage.errors import error
from presage.plan.expr import ColumnRef, Expr
from presage.plan.row_terms import RowValue


@dataclass(frozen=True)
class EvaluatorPredicates:
    """Numbered conditions over the columns `a0`, `a1`, …, which the evaluator computes for a kernel."""

    conditions: Mapping[int, Expr]
    relations: Mapping[str, pa.Table]

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray:
        table = pa.table(arguments, names=[f"a{i}" for i in range(len(arguments))])
        return Evaluator(self.relations).mask(self.conditions[number], table)


class Programs:
    """Compiles the programs of one node: maps numbers in the node's list to numbers in the code."""

    def __init__(self, programs: tuple[Expr, ...]) -> None:
        self.programs = programs
        self.builder = CodeBuilder()
        self.conditions: dict[int, Expr] = {}

    def number(self, program: int) -> int:
        if program < 0:
            return -1
        found = self.builder.add(self.programs[program])
        if found is None:
            raise error("INTERNAL", what=f"no program for term {program} of a pattern")
        return found

    def ask(self, program: int, columns: tuple[tuple[int, str], ...]) -> int:
        """Registers a condition over columns of several rows for the evaluator."""
        if program < 0:
            return -1
        places = {column: i for i, column in enumerate(columns)}

        def argument(x: Expr) -> Expr:
            return ColumnRef(x.type, f"a{places[x.place, x.column]}") if isinstance(x, RowValue) else x

        condition = self.programs[program].rewrite(argument)
        if not supports(condition):
            span = self.programs[program].span
            where, fix = "over several events", "use it on one event at a time"
            raise error("UNSUPPORTED", span, what="a function that only Spark computes", where=where, fix=fix)
        self.conditions[program] = condition
        return program

    def oracle(self, relations: Mapping[str, pa.Table]) -> EvaluatorPredicates | None:
        return EvaluatorPredicates(dict(self.conditions), dict(relations)) if self.conditions else None
