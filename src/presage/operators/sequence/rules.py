"""Optimizer rules of sequences.

drop_idle_rows: filter out rows that are no candidates of any subgoal.

before   Sequence [ At(p, 'a') ; At(p, 'b') ]      after   Sequence [ At(p, 'a') ; At(p, 'b') ]
           Scan At                                           Filter At.location = 'a' OR At.location = 'b'
                                                               Scan At

An alternative that is no candidate is equivalent to no event. If a stream is Markovian all rows stay: the value at the
step before counts, and steps are the times of all rows. They also stay for the most likely value, which may be any row.
"""

from __future__ import annotations

from dataclasses import replace

from presage.operators.sequence.nodes import SequenceMatch
from presage.optimize import Rule
from presage.plan.expr import any_of
from presage.plan.nodes import Filter, Node


def drop_idle_rows(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if not isinstance(node, SequenceMatch) or node.filtered or node.tables.query.markov or node.tables.by:
            return node
        sources = tuple(_filtered(node, number) for number in range(len(node.sources)))
        return replace(node, sources=sources, filtered=True)

    return plan.rewrite(change)


def _filtered(node: SequenceMatch, number: int) -> Node:
    source = node.sources[number]
    goals = zip(node.tables.query.goals, node.tables.goals, strict=True)
    flags = [columns.candidate for goal, columns in goals if goal.source == number]
    by_name = {n.name: n.expr for n in node.prepared[number]}
    if any(flag is None for flag in flags):
        return source
    condition = any_of([by_name[flag] for flag in flags if flag is not None])
    return source if condition is None else Filter(source, condition)


RULES = (Rule("drop_idle_rows", drop_idle_rows),)
