"""EXPLAIN of a Recall node: how history is read, how answers are computed, which equalities tie events to it."""

from __future__ import annotations

from collections.abc import Callable

from presage.execution.placement import MOST_ROWS, is_computed
from presage.model.time import format_duration
from presage.operators.recall.history_chunks import CHUNK_ROWS, GROWTH, SMALL_CHUNKS
from presage.operators.recall.nodes import Recall, Recalled, Retained, Select, Similar, held_in
from presage.plan.display import show
from presage.plan.explain import Report
from presage.plan.expr import Comparison, Expr, conjuncts
from presage.plan.nodes import Node, RelationScan

INDENT = "  "


def describe_recall(node: Recall) -> Report:
    revisions = "the last revision alone" if node.final else "a revision for each chunk"
    lines = [f"kernel  history, chunk by chunk, newest first; {revisions}"]
    growing = f"from the {SMALL_CHUNKS + 1}th on {GROWTH} times the one before"
    sizes = f"about {CHUNK_ROWS:,} rows each (rows_per_chunk); {growing}"
    details = [f"chunks: {sizes}", *(line for recall in node.recalls for line in _lines(recall, node))]
    met = zip(node.present, node.on, strict=True)
    details += [f"each revision meets {_met(each)}, as of the moment it is made, on {show(on)}" for each, on in met]
    warnings = tuple(
        f"RECALL '{recall.alias}': no equality ties the event to '{alias}': every event meets every row of its span; "
        f"add a condition such as {alias}.x = {_event_of(node)}x"
        for recall in _plain(node)
        for select in recall.select.selects()
        for alias in untied(select)
    )
    unbounded = "a stream of the present without a window keeps every event; give it one, for example #time(1 hour)"
    warnings += tuple(unbounded for each in node.present if isinstance(each, Retained) and not each.bounded)
    states = [
        "recall: of each event what was found so far, and the rows that were told last" + _kept(node),
        *_held(node),
    ]
    return Report(
        "\n".join([*lines, *(INDENT * 4 + line for line in details)]),
        _parallelism(node),
        "\n".join(states),
        warnings,
    )


def _parallelism(node: Recall) -> str:
    """Where a chunk is read."""
    why = why_on_spark(node)
    on_spark = f"by a Spark job: {why}"
    if not why:
        on_spark = f"in this process, one of more than {MOST_ROWS:,} events by a Spark job"
    return f"recall: each chunk {on_spark}; all events ask together, and answers meet on the driver"


def why_on_spark(plan: Node) -> str:
    """Why a RECALL of the plan cannot run in this process; empty if all can."""
    recalls = (recall for node in plan.walk() if isinstance(node, Recall) for recall in node.recalls)
    missing = (expr for recall in recalls for expr in recall.expressions() if not is_computed(expr))
    return next((f"only Spark computes {show(expr)}" for expr in missing), "")


def why_of_select(select: Select) -> str:
    exprs = (expr for each in select.selects() for expr in each.own_expressions())
    return next((f"only Spark computes {show(expr)}" for expr in exprs if not is_computed(expr)), "")


def _met(node: Node) -> str:
    """What a revision is joined with, in words."""
    if isinstance(node, RelationScan):
        return f"relation {node.relation}"
    assert isinstance(node, Retained)
    return held_in(node)


def _held(node: Recall) -> list[str]:
    """The state of streams that a revision is joined with."""
    windows = [each for each in node.present if isinstance(each, Retained)]
    return [f"recall: {held_in(each)}{'' if each.bounded else ', grows for ever'}" for each in windows]


def _plain(node: Recall) -> list[Recalled]:
    """The plain RECALLs, with those inside of contexts."""
    inside = [one for r in node.recalls if isinstance(r, Similar) for select in r.selects() for one in select.recalled]
    return list(dict.fromkeys([*(r for r in node.recalls if isinstance(r, Recalled)), *inside]))


def _kept(node: Recall) -> str:
    similar = any(isinstance(recall, Similar) for recall in node.recalls)
    return "; of a deployed statement all past events that it has computed, with their contexts" if similar else ""


def _lines(recall: Recalled | Similar, node: Recall) -> list[str]:
    if isinstance(recall, Similar):
        back = f"the last {format_duration(recall.last)}" if recall.last is not None else "all history"
        how = "a query compares them at once; a deployed statement with those computed so far, which it keeps"
        lines = [f"{recall.alias}: past events of {back}, by their contexts, on the driver; {how}"]
        used = dict.fromkeys(one for select in recall.selects() for one in select.recalled)
        return lines + [
            f"{recall.alias}: its contexts use {one.alias}, {_span(one)}{_joined(one)}; all events ask as one set"
            for one in used
        ]
    depends = [other.alias for other in node.recalls if recall.select.parameters & {c.name for c in other.columns}]
    why = recall.select.whole() or (f"it speaks of {', '.join(depends)}, which changes" if depends else "")
    how = f"asked anew over all that is covered, because {why}" if why else "put together from the answers of chunks"
    return [f"{recall.alias}: {_span(recall)}{_joined(recall)}; {how}"]


def _span(recall: Recalled) -> str:
    return f"the last {format_duration(recall.last)}" if recall.last is not None else "all history"


def _joined(recall: Recalled) -> str:
    ties = [show(tie) for select in recall.select.selects() for tie in equalities(select)]
    return f", joined by {' and '.join(dict.fromkeys(ties))}" if ties else ""


def equalities(select: Select) -> list[Expr]:
    """Equalities between a term of the event and a term of history."""
    conditions = [*conjuncts(select.where), *(c for source in select.sources for c in conjuncts(source.on))]
    return [c for c in conditions if isinstance(c, Comparison) and c.op == "=" and _between(c, select.parameters)]


def untied(select: Select) -> list[str]:
    """Streams of a select without an equality to the event, or to a source that has one."""
    conditions = [*conjuncts(select.where), *(c for source in select.sources for c in conjuncts(source.on))]
    pairs = [c for c in conditions if isinstance(c, Comparison) and c.op == "="]
    known = set(select.parameters)
    tied: set[str] = set()
    for _ in select.sources:
        for pair in pairs:
            for one, other in ((pair.left, pair.right), (pair.right, pair.left)):
                owners = {name.partition(".")[0] for name in other.columns() - known}
                if one.columns() and one.columns() <= known and len(owners) == 1:
                    tied |= owners
                    known |= other.columns()
        known |= {c for pair in pairs for c in pair.columns() if c.partition(".")[0] in tied}
    return [source.alias for source in select.sources if source.is_stream and source.alias not in tied]


def _between(pair: Comparison, event: frozenset[str]) -> bool:
    left, right = pair.left.columns(), pair.right.columns()
    return bool(left and right) and (left <= event) != (right <= event) and not (left & event and right & event)


def _event_of(node: Recall) -> str:
    """The alias of the event with its dot; empty where it has none of its own."""
    name = node.input.columns[0].name if node.input.columns else ""
    return name.partition(".")[0] + "." if "." in name else ""


DESCRIBE: dict[type[Node], Callable[..., Report]] = {Recall: describe_recall}
