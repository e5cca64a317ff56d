"""PATHs that are refused before they are read: what they would mean is not what was written."""

from __future__ import annotations

from collections.abc import Callable

from presage.errors import did_you_mean, error
from presage.knowledge import sparql as q
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path, Qualified
from presage.lang.recall_syntax import HistorySelect
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span

# Calls in which a variable may be unbound.
_MAY_BE_UNBOUND = frozenset({"BOUND", "COALESCE", "IF"})


def refuse_history(query: s.Query, parsed: Callable[[Path], q.Group]) -> None:
    """Inside a RECALL, `?h` would be any variable and not the row of history: it is refused until it can be that."""
    for select in [node for node in nodes_of(query) if isinstance(node, HistorySelect)]:
        rows = {source.alias or source.name for source in select.sources}
        for node in nodes_of(select):
            if isinstance(node, Path):
                named = (v for v in q.walk(parsed(node)) if isinstance(v, q.Var) and v.name in rows)
                found = next(((f"?{v.name}", v.span) for v in named), None)
            elif isinstance(node, Qualified) and isinstance(node.base, s.Name) and node.base.name in rows:
                found = (f"{node.base.name}.{node.prefix}:{node.name}", node.span)
            else:
                continue
            if found is not None:
                _refuse(*found)


def _refuse(what: str, span: Span) -> None:
    fix = "let the PATH speak of the event, and compare its attributes with those of history outside of it"
    raise error("UNSUPPORTED", span, what=f"the row of history {what}", where="in a PATH or by its meaning", fix=fix)


def refuse_unbound(group: q.Group) -> None:
    """A FILTER on a variable that nothing in the PATH binds: it could not be true, so the variable is misspelt."""
    bound = frozenset[str]()
    for node in q.walk(group):
        if isinstance(node, q.Triple | q.Values | q.Bind | q.SubSelect):
            bound |= node.variables()
    for node in q.walk(group):
        if not isinstance(node, q.Filter) or any(
            isinstance(inner, q.Exists) or (isinstance(inner, q.Call) and inner.name in _MAY_BE_UNBOUND)
            for inner in q.walk(node)
        ):
            continue
        for variable in q.walk(node):
            if isinstance(variable, q.Var) and variable.name not in bound:
                fix = did_you_mean(variable.name, sorted(bound), "let a triple of the PATH bind it")
                raise error("UNKNOWN_ATTRIBUTE", variable.span, owner="this PATH", name=f"?{variable.name}", fix=fix)
