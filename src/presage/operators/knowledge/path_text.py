"""The text of a PATH as a tree, with the checks and the errors that point into the text of the query."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from presage.errors import PresageError, did_you_mean, error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path, Qualified
from presage.lang.recall_syntax import HistorySelect
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.graph_patterns import with_named_blanks
from presage.operators.knowledge.sparql_parser import parse_group
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.sparql_simplify import simplified

EXAMPLE = "write triples, as in PATH { ?e evt:hasSource ?src . ?src a ee:Sensor }"
# Functions of SPARQL that are not deterministic.
_UNSTEADY = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})
# Calls in which a variable may be unbound.
_TESTS = frozenset({"BOUND", "COALESCE", "IF"})


def parse_path(path: Path, prefixes: Mapping[str, str]) -> q.Group:
    """The simplified tree of a PATH, checked."""
    try:
        group = parse_group(path.text, prefixes, path.body.start)
    except q.SparqlError as problem:
        raise _bad_path(problem, prefixes) from problem
    for node in q.walk(group):
        if isinstance(node, q.Call) and node.name in _UNSTEADY:
            where = "in a PATH: rows must be the same when they are computed again"
            raise unsupported(node.span, f"{node.name}()", where, "compare with an attribute of the event")
    _check_by_store(path, group, prefixes)
    refuse_unbound(group)
    return with_named_blanks(simplified(group))


def unknown_prefix(prefix: str, span: Span, prefixes: Mapping[str, str]) -> PresageError:
    fix = did_you_mean(prefix, list(prefixes), f"write PREFIX {prefix}: <…> before the query")
    return error("UNKNOWN_PREFIX", span, prefix=prefix, fix=fix)


def unsupported(span: Span, what: str, where: str, fix: str) -> PresageError:
    return error("UNSUPPORTED", span, what=what, where=where, fix=fix)


def _bad_path(problem: q.SparqlError, prefixes: Mapping[str, str]) -> PresageError:
    unknown = re.match(r"the prefix '(\w*):' is not declared", problem.message)
    if unknown:
        return unknown_prefix(unknown[1], problem.span, prefixes)
    refused = re.match(r"(SERVICE|GRAPH|FROM)\b", problem.message)
    fix = f"leave {refused[1]} out: a PATH asks the knowledge bases alone" if refused else EXAMPLE
    return error("BAD_PATH", problem.span, why=problem.message, fix=fix)


def _check_by_store(path: Path, group: q.Group, prefixes: Mapping[str, str]) -> None:
    """The store decides what is valid SPARQL: on our text first, then on the user's for the place of the error."""
    from presage.operators.knowledge.graph import Graph

    problem = Graph.check(f"ASK {{ {print_group(group)} }}")
    if problem is None:
        return
    opening = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items()) + " ASK { "
    written = Graph.check(opening + path.text + "\n}")
    if written is None:
        raise error("BAD_PATH", path.span, why=problem.message, fix=EXAMPLE)
    span = placed_in(path, written.line, written.column - (len(opening) if written.line == 1 else 0))
    raise error("BAD_PATH", span, why=written.message, fix=EXAMPLE)


def placed_in(path: Path, line: int, column: int) -> Span:
    """The place in the query of a line and column of the pattern, both from 1."""
    lines = path.text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    offset = sum(len(text) + 1 for text in lines[:row]) + min(max(column - 1, 0), len(lines[row]))
    offset = min(offset, max(len(path.text) - 1, 0))
    return Span(path.body.start + offset, path.body.start + offset + 1)


def placed_at(expr: s.Expr, span: Span) -> s.Expr:
    """The condition with the place of its PATH, so that errors point there."""
    updates: dict[str, object] = {"span": span}
    for name, value in vars(expr).items():
        if isinstance(value, s.Expr):
            updates[name] = placed_at(value, span)
        elif isinstance(value, tuple) and value and all(isinstance(v, s.Expr) for v in value):
            updates[name] = tuple(placed_at(v, span) for v in value)
    return replace(expr, **updates)  # type: ignore[arg-type]


# -- PATHs that are rejected ---------------------------------------------------------------------------


def refuse_other_rows(query: s.Query, relations: Collection[str], parsed: Callable[[Path], q.Group]) -> None:
    """Reject PATHs about rows that are no events of the query: rows of history, of a relation or of a RECALL. The name
    of such a row would be an ordinary variable of SPARQL."""
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
            fix = "let the PATH ask about the event, and compare its attributes with those of the row outside of it"
            raise unsupported(span, f"the row of {rows[name]} {written}", "in a PATH or by its meaning", fix)


def refuse_unbound(group: q.Group) -> None:
    """Reject a variable of a FILTER or BIND that nothing in the PATH binds: it is misspelt."""
    bound = frozenset[str]()
    for node in q.walk(group):
        if isinstance(node, q.Triple | q.Values | q.SubSelect):
            bound |= node.variables()
        elif isinstance(node, q.Bind):
            bound |= {node.variable.name}
    for node in q.walk(group):
        if isinstance(node, q.Filter | q.Bind):
            unbound = [v for v in q.walk(node) if isinstance(v, q.Var) and v.name not in bound]
            allowed = _may_be_unbound(node) if unbound else frozenset()
            for variable in unbound:
                if variable.name not in allowed:
                    name = f"?{variable.name}"
                    fix = did_you_mean(name, [f"?{x}" for x in bound], "let a triple of the PATH bind it")
                    raise error("UNKNOWN_ATTRIBUTE", variable.span, owner="this PATH", name=name, fix=fix)


def _may_be_unbound(node: q.Node) -> frozenset[str]:
    """The variables in calls that test for a value."""
    tests = [n for n in q.walk(node) if isinstance(n, q.Exists) or (isinstance(n, q.Call) and n.name in _TESTS)]
    return frozenset(v.name for test in tests for v in q.walk(test) if isinstance(v, q.Var))
