"""Compilation of a MATCH_RECOGNIZE node to its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from presage.columnar.row_programs import Programs
from presage.operators.match.kernel.match import MatchKernel
from presage.operators.match.kernel.spec import Condition, Fold, MatchSpec
from presage.operators.match.nodes import Match


def match_kernel(node: Match, relations: Mapping[str, pa.Table]) -> MatchKernel:
    programs = Programs(node.programs)
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
