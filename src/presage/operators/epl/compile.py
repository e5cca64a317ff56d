"""Compilation of an EPL pattern to its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from presage.columnar.row_programs import Programs
from presage.execution.stage import KEY
from presage.operators.epl.kernel.pattern import PatternKernel
from presage.operators.epl.kernel.spec import STATEMENT, PatternSpec
from presage.operators.epl.nodes import PatternMatch


def pattern_kernel(node: PatternMatch, relations: Mapping[str, pa.Table]) -> PatternKernel:
    programs = Programs(node.programs)
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
    keys = tuple(f"{KEY}{i}" for i in range(len(node.partition[0]))) if any(node.partition) else ()
    if node.tables.shared:
        keys = (*keys, STATEMENT)
    named = {**vars(node.tables), "nodes": tuple(nodes), "keys": keys}
    return PatternKernel(PatternSpec(**named, code=programs.builder.build()), programs.oracle(relations))
