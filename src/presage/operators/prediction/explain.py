"""EXPLAIN of a PredictedMatch node: index, evaluation, partitioning and state."""

from __future__ import annotations

from collections.abc import Callable

from presage.model.time import format_duration
from presage.operators.prediction.kernel.index.boxes import indexed_terms
from presage.operators.prediction.nodes import PredictedMatch
from presage.plan.explain import Report
from presage.plan.nodes import Node

INDENT = "  "


def describe_predicted(node: PredictedMatch) -> Report:
    tables = node.tables
    details = [node.text]
    for pair in tables.pairs:
        close = len(indexed_terms(pair.spec))
        axes = f"time and {close} dimension{'s' if close > 1 else ''}" if close else "time alone"
        details.append(
            f"pairs: by a grid over {axes}, then regions of (t, t') within {format_duration(pair.spec.window)}"
        )
    if tables.validate is not None:
        details.append(f"rows are cut every {format_duration(tables.validate)}")
    for stream in tables.streams:
        if stream.limit is not None:
            details.append(f"buffer of {stream.limit:,} tuples, {stream.policy}: answers are those of what it holds")
    if tables.tentative:
        details.append("told when an update arrives, from what lies ahead of the watermark, and taken back likewise")
    lines = ["kernel  validity of functions of time", *(INDENT * 4 + line for line in details)]
    spread = "parallel, partitioned by its key"
    if not node.spread_by():
        why = "any two objects may meet" if tables.pairs else "all objects share a buffer"
        spread = f"one partition, because {why}"
        if node.meets:
            spread = "in one partition; over many updates, by key, then where objects can meet"
    state = "of every object the functions that can still matter, "
    state += "intervals that are open, and tentative rows" if tables.tentative else "and intervals that are open"
    warnings = tuple(
        "a predicted stream has no period: a sensor that falls silent is taken to go on as it was, for ever; "
        "add WITH (period = '…')"
        for stream in tables.streams
        if stream.period is None
    )
    return Report("\n".join(lines), f"prediction: {spread}", f"prediction: {state}", warnings[:1])


DESCRIBE: dict[type[Node], Callable[..., Report]] = {PredictedMatch: describe_predicted}
