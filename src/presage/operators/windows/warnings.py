"""The check of `#session` under a GROUP BY that names more than its keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from presage.errors import QueryWarning, warning
from presage.lang import syntax as s
from presage.lang.tree_walk import nodes_of
from presage.operators.windows.window_types import KEYS, window_types

_KEYED = {each.name for each in window_types() if each.has_bounds and each.then == KEYS}


def check_sessions(statement: s.Statement, text: str) -> Iterator[QueryWarning]:
    """Groups that are no key of the session: events of the others prolong the sessions that they share."""
    queries = [node for node in nodes_of(statement) if isinstance(node, s.Query)]
    sources = [(query, item) for query in queries for item in query.items]
    for query, item in sources:
        for window in (each for each in item.windows if each.name.lower() in _KEYED):
            keys = [_bare(each, item) for each in window.args[1:]]
            written = {each.alias: each.expr for each in query.select if each.alias}
            named = [(each, written.get(getattr(each, "name", ""), each)) for each in query.group_by]
            groups = [group for name, group in named if not _has(keys, _bare(name, item))]
            more = [_text(each, text) for each in groups if not _has(keys, _bare(each, item))]
            if more:
                own = f"#{window.name}({', '.join([*(_text(each, text) for each in window.args), *more])})"
                yield warning("SESSION_OF_ALL_GROUPS", window.span, more=", ".join(more), own=own)


def _text(node: s.Node, text: str) -> str:
    return text[node.span.start : node.span.end]


def _bare(term: Any, item: s.FromItem) -> Any:
    """The term with attributes by their names alone."""
    if isinstance(term, s.Member) and term.base == s.Name(item.alias or item.name):
        return s.Name(term.name)
    if isinstance(term, s.Node):
        return replace(term, **{name: _bare(value, item) for name, value in vars(term).items()})
    return tuple(_bare(each, item) for each in term) if type(term) is tuple else term


def _has(keys: list[s.Expr], term: object) -> bool:
    """Whether a term has one value for each value of the keys."""
    if isinstance(term, tuple):
        return all(_has(keys, each) for each in term)
    if not isinstance(term, s.Node) or term in keys:
        return True
    return not isinstance(term, s.Name) and all(_has(keys, each) for each in vars(term).values())


WARNINGS = (check_sessions,)
