"""Logical nodes -> the kernels' tables: programs are written; what none can express is asked of the evaluator.

Knows no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.columnar.evaluate import supports
from presage.columnar.oracle import EvaluatorOracle
from presage.errors import error
from presage.patterns.compile_terms import CodeBuilder
from presage.patterns.kernel.match import MatchKernel
from presage.patterns.kernel.match_spec import Fold, MatchSpec
from presage.patterns.kernel.pattern import PatternKernel
from presage.patterns.kernel.pattern_spec import STATEMENT, PatternSpec
from presage.patterns.nodes import Match, PatternMatch
from presage.patterns.terms import RowValue
from presage.plan.expr import ColumnRef, Expr

if TYPE_CHECKING:
    from presage.patterns.kernel.match_spec import Condition

KEYS = "_key"


class _Programs:
    """The programs of one node: numbers in the node's list in, numbers in the code out."""

    def __init__(self, programs: tuple[Expr, ...]) -> None:
        self.programs = programs
        self.builder = CodeBuilder()
        self.asked: dict[int, Expr] = {}

    def number(self, program: int) -> int:
        if program < 0:
            return -1
        found = self.builder.add(self.programs[program])
        if found is None:
            raise error("INTERNAL", what=f"no program for term {program} of a pattern")
        return found

    def ask(self, program: int, columns: tuple[tuple[int, str], ...]) -> int:
        """A condition over the columns of several rows, for the evaluator."""
        if program < 0:
            return -1
        places = {column: i for i, column in enumerate(columns)}

        def argument(x: Expr) -> Expr:
            return ColumnRef(x.type, f"a{places[x.place, x.column]}") if isinstance(x, RowValue) else x

        condition = self.programs[program].rewrite(argument)
        if not supports(condition):
            span = self.programs[program].span
            raise error("UNSUPPORTED", span, what="a function that only Spark computes", where="over several events",
                        fix="use it on one event at a time")  # fmt: skip
        self.asked[program] = condition
        return program

    def oracle(self, relations: Mapping[str, pa.Table]) -> EvaluatorOracle | None:
        return EvaluatorOracle(dict(self.asked), dict(relations)) if self.asked else None


def match_kernel(node: Match, relations: Mapping[str, pa.Table]) -> MatchKernel:
    """The kernel of MATCH_RECOGNIZE."""
    programs = _Programs(node.programs)
    tables = node.tables

    def fold(x: Fold) -> Fold:
        return replace(x, program=programs.number(x.program))

    def condition(x: Condition) -> Condition:
        return replace(
            x,
            nearby=programs.number(x.nearby),
            bound=programs.number(x.bound),
            asked=programs.ask(x.asked, x.asked_columns),
            folds=tuple(map(fold, x.folds)),
        )

    conditions = tuple(map(condition, tables.conditions))
    measures = tuple(replace(m, fold=fold(m.fold)) if m.fold is not None else m for m in tables.measures)
    named = {**vars(tables), "conditions": conditions, "measures": measures}
    return MatchKernel(MatchSpec(**named, code=programs.builder.build()), programs.oracle(relations))


def pattern_kernel(node: PatternMatch, relations: Mapping[str, pa.Table]) -> PatternKernel:
    """The kernel of a pattern."""
    programs = _Programs(node.programs)
    nodes = []
    for term in node.tables.nodes:
        period = term.period
        if period is not None:
            period = replace(period, program=programs.number(period.program))
        nodes.append(
            replace(
                term,
                program=programs.number(term.program),
                asked=programs.ask(term.asked, term.asked_columns),
                keys=tuple((programs.number(program), bank) for program, bank in term.keys),
                low_program=programs.number(term.low_program),
                high_program=programs.number(term.high_program),
                period=period,
            )
        )
    keys = tuple(f"{KEYS}{i}" for i in range(len(node.partition[0]))) if any(node.partition) else ()
    if node.tables.shared:
        keys = (*keys, STATEMENT)
    named = {**vars(node.tables), "nodes": tuple(nodes), "keys": keys}
    return PatternKernel(PatternSpec(**named, code=programs.builder.build()), programs.oracle(relations))
