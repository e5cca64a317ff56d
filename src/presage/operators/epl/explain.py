"""EXPLAIN of an EPL pattern: terms, key, state, warnings."""

from __future__ import annotations

from collections.abc import Callable

from presage.operators.epl.growth import growth, head_of, period_text
from presage.operators.epl.kernel.spec import Node as Term
from presage.operators.epl.kernel.spec import PatternTables
from presage.operators.epl.nodes import PatternMatch
from presage.plan.display import show
from presage.plan.explain import Report
from presage.plan.nodes import Node

INDENT = "  "


def describe_pattern(node: PatternMatch) -> Report:
    tables = node.tables
    keys = ", ".join(map(show, node.key_of(0))) if any(node.partition) else ""
    lines = [f"kernel  pattern of {_counted(len(tables.nodes), 'term')}" + (f" by [{keys}]" if keys else "")]
    lines += [INDENT * 4 + line for line in _terms(tables, 0)]
    spread = f"parallel, partitioned by [{keys}]" if keys else f"one partition, because {_why_one(tables)}"
    parts = growth(tables)
    kept = [part.kept for part in parts] or ["one open match at a time"]
    if keys:
        kept.append(f"nothing for a value of [{keys}] without an open match")
    kept.append(f"more than {tables.most:,} partial matches in one partition are an error")
    warnings = tuple(part.warning for part in parts if part.warning)
    return Report("\n".join(lines), f"pattern: {spread}", "\n".join(f"pattern: {part}" for part in kept), warnings)


def _terms(tables: PatternTables, number: int) -> list[str]:
    """A term and, indented, its operands."""
    term = tables.nodes[number]
    below = [INDENT + line for child in term.children for line in _terms(tables, child)]
    return [term_title(term, tables) + (f": {_how(term)}" if term.kind == "filter" else ""), *below]


def term_title(term: Term, tables: PatternTables) -> str:
    """A term without its operands."""
    match term.kind:
        case "followed":
            limits = [str(limit) for limit in term.limits if limit >= 0]
            return "followed by" + (f", at most {', '.join(limits)} open" if limits else "")
        case "and" | "or" | "not" | "every":
            return term.kind
        case "distinct":
            return head_of(term, tables)
        case "until":
            low, high = _bound(term.low, term.low_program), _bound(term.high, term.high_program)
            times = low if low == high else f"{low}:{high}"
            return "repeat" + (f" [{times}]" if times else "") + (" until" if len(term.children) > 1 else "")
        case "within" if term.period is not None:
            most = f", at most {_counted(term.most, 'match', 'matches')}" if term.most >= 0 else ""
            return f"within {period_text(term.period)}{most}"
        case "while":
            return term.text.removeprefix(tables.nodes[term.children[0]].text).strip() or "while"
    return term.text


def _bound(constant: int, program: int) -> str:
    return "…" if program >= 0 else str(constant) if constant >= 0 else ""


def _how(term: Term) -> str:
    parts = []
    if term.flag is not None:
        parts.append("native, on the event alone")
    if term.program >= 0:
        parts.append("compiled, over the events so far")
    if term.asked >= 0:
        parts.append("computed by the evaluator, over the events so far")
    return "; then ".join(parts) or "any event"


def _why_one(tables: PatternTables) -> str:
    root = tables.nodes[0]
    if tables.discard or tables.suppress:
        return "a match ends others"
    if root.kind != "followed" or tables.nodes[root.children[0]].kind != "every":
        return "only EVERY a=… -> … falls apart into keys"
    if any(limit >= 0 for limit in root.limits):
        return "-[n]> counts the open matches of all keys"
    return "nothing ties all events of the pattern to the first one"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


DESCRIBE: dict[type[Node], Callable[..., Report]] = {PatternMatch: describe_pattern}
