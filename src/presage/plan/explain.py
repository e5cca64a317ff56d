"""The text of EXPLAIN. Capabilities describe their own nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from presage.plan.display import show_plan
from presage.plan.nodes import Merge, Node, RelationScan, Scan
from presage.plan.query import BoundQuery, RuleNote


@dataclass(frozen=True)
class Report:
    """How one node runs: physical lines, parallelism and state (empty for stateless nodes), warnings with fixes."""

    line: str
    parallelism: str = ""
    state: str = ""
    warnings: tuple[str, ...] = ()


Describe = Callable[..., Report]


def explain(
    query: BoundQuery, optimized: Node, applied: tuple[str, ...], describe: Mapping[type[Node], Describe]
) -> str:
    reports = [(node, depth, _report(node, describe)) for node, depth in _with_depth(optimized)]
    physical = "\n".join("  " * depth + line for _, depth, r in reports for line in r.line.splitlines())
    parallel = [r.parallelism for _, _, r in reports if r.parallelism]
    state = [r.state for _, _, r in reports if r.state]
    warnings = [f"[{w.code}] {w.message}; fix: {w.fix}" for w in query.warnings]
    warnings += list(dict.fromkeys(w for _, _, r in reports for w in r.warnings))
    rules = list(dict.fromkeys([*(note.rule for note in query.notes), *applied]))
    sections = [
        ("Query", query.text),
        *([("Knowledge", "\n".join(map(_noted, query.notes)))] if query.notes else []),
        ("Logical plan", show_plan(query.plan)),
        ("Optimized plan", show_plan(optimized) + f"\nrules: {', '.join(rules) or 'none applied'}"),
        ("Physical plan", physical),
        ("Parallelism", "\n".join(parallel) or "stateless: as many tasks as there are files"),
        ("State", "\n".join(state) or "none"),
        ("Warnings", "\n".join(warnings) or "none"),
    ]
    return "\n\n".join(f"== {title} ==\n{body}" for title, body in sections)


def _noted(note: RuleNote) -> str:
    before = " ".join(note.before.split())
    return f"{note.rule}\n  before  {before}\n  after   {note.after}"


def _with_depth(node: Node, depth: int = 0) -> list[tuple[Node, int]]:
    found = [(node, depth)]
    for child in node.inputs:
        found.extend(_with_depth(child, depth + 1))
    return found


def _report(node: Node, describe: Mapping[type[Node], Describe]) -> Report:
    if type(node) in describe:
        return describe[type(node)](node)
    if isinstance(node, Scan) and node.made:
        return Report(f"kernel  rows of the statements that fill {node.stream} [{', '.join(node.attributes)}]")
    if isinstance(node, Scan):
        return Report(f"native  read the archive of {node.stream} [{', '.join(node.attributes)}]")
    if isinstance(node, RelationScan):
        return Report(f"native  relation {node.relation}")
    if isinstance(node, Merge):
        return Report(f"native  {'union' if len(node.sources) > 1 else 'events'}, in order of event time and arrival")
    return Report(f"native  {node.label()}")
