"""PATHs that are refused because their meaning would not be what was written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path, Qualified
from presage.lang.recall_syntax import HistorySelect
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span
from presage.operators.knowledge import sparql_syntax as q

# Calls in which a variable may be unbound.
_MAY_BE_UNBOUND = frozenset({"BOUND", "COALESCE", "IF"})


def refuse_other_rows(query: s.Query, relations: Collection[str], parsed: Callable[[Path], q.Group]) -> None:
    """Rows that are no events of the query: inside a RECALL `?h` would be any variable and not the row of history, and
    so would be the row of a relation, or of what a RECALL gave. They are refused until they can be that."""
    for select in [node for node in nodes_of(query) if isinstance(node, HistorySelect)]:
        _refuse_rows(select, dict.fromkeys((x.alias or x.name for x in select.sources), "history"), parsed)
    others = {item.alias or item.name: "a relation" for item in query.items if item.name in relations}
    others |= {recall.alias: "a RECALL" for item in query.items for recall in item.recalls}
    _refuse_rows(query, others, parsed)


def _refuse_rows(within: s.Node, rows: Mapping[str, str], parsed: Callable[[Path], q.Group]) -> None:
    for node in nodes_of(within) if rows else ():
        if isinstance(node, Path):
            named = (v for v in q.walk(parsed(node)) if isinstance(v, q.Var) and v.name in rows)
            found = next(((f"?{v.name}", v.name, v.span) for v in named), None)
        elif isinstance(node, Qualified) and isinstance(node.base, s.Name) and node.base.name in rows:
            found = (f"{node.base.name}.{node.prefix}:{node.name}", node.base.name, node.span)
        else:
            continue
        if found is not None:
            written, name, span = found
            _refuse(f"the row of {rows[name]} {written}", span)


def _refuse(what: str, span: Span) -> None:
    fix = "let the PATH speak of the event, and compare its attributes with those of the row outside of it"
    raise error("UNSUPPORTED", span, what=what, where="in a PATH or by its meaning", fix=fix)


def refuse_unbound(group: q.Group) -> None:
    """A variable of a FILTER or BIND that nothing in the PATH binds: it has no value, so that it is misspelt."""
    bound = frozenset[str]()
    for node in q.walk(group):
        if isinstance(node, q.Triple | q.Values | q.SubSelect):
            bound |= node.variables()
        elif isinstance(node, q.Bind):
            bound |= {node.variable.name}
    for node in q.walk(group):
        if isinstance(node, q.Filter | q.Bind):
            unbound = [v for v in q.walk(node) if isinstance(v, q.Var) and v.name not in bound]
            known = bound | (_asked_about(node) if unbound else frozenset())
            for variable in unbound:
                if variable.name not in known:
                    fix = did_you_mean(
                        f"?{variable.name}", [f"?{x}" for x in bound], "let a triple of the PATH bind it"
                    )
                    raise error(
                        "UNKNOWN_ATTRIBUTE", variable.span, owner="this PATH", name=f"?{variable.name}", fix=fix
                    )


def _asked_about(node: q.Node) -> frozenset[str]:
    """The variables of which a term asks whether they have a value."""
    asking = [
        inner
        for inner in q.walk(node)
        if isinstance(inner, q.Exists) or (isinstance(inner, q.Call) and inner.name in _MAY_BE_UNBOUND)
    ]
    return frozenset(v.name for inner in asking for v in q.walk(inner) if isinstance(v, q.Var))
