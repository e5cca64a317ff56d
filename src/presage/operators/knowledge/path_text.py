"""The text of a PATH as a tree, with every error at its place in the text of the query.

Apart from the rewriting of the query, which sees only trees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from presage.errors import PresageError, did_you_mean, error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path
from presage.model.text import Span
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.graph_patterns import with_named_blanks
from presage.operators.knowledge.path_checks import refuse_unbound
from presage.operators.knowledge.sparql_parser import parse_group
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.sparql_simplify import simplified

EXAMPLE = "write triples, as in PATH { ?e evt:hasSource ?src . ?src a ee:Sensor }"
# Functions of SPARQL whose value is another one each time.
UNSTEADY = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})


def parse_path(path: Path, prefixes: Mapping[str, str]) -> q.Group:
    """The simplified tree of a PATH, after all checks."""
    try:
        group = parse_group(path.text, prefixes, path.body.start)
    except q.SparqlError as problem:
        raise _bad_path(problem, prefixes) from problem
    for node in q.walk(group):
        if isinstance(node, q.Call) and node.name in UNSTEADY:
            where = "in a PATH: rows must be the same when they are made again"
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
    fix = f"leave {refused[1]} out: a PATH speaks of the knowledge bases alone" if refused else EXAMPLE
    return error("BAD_PATH", problem.span, why=problem.message, fix=fix)


def _check_by_store(path: Path, group: q.Group, prefixes: Mapping[str, str]) -> None:
    """The store decides what is valid SPARQL. It is given our text; the place is sought in the user's."""
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
    """A line and column of the pattern, both from 1, in the query's text."""
    lines = path.text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    offset = sum(len(text) + 1 for text in lines[:row]) + min(max(column - 1, 0), len(lines[row]))
    offset = min(offset, max(len(path.text) - 1, 0))
    return Span(path.body.start + offset, path.body.start + offset + 1)


def placed_at(expr: s.Expr, span: Span) -> s.Expr:
    """The condition with the place of the PATH that it was made of, so that an error points there."""
    updates: dict[str, object] = {"span": span}
    for name, value in vars(expr).items():
        if isinstance(value, s.Expr):
            updates[name] = placed_at(value, span)
        elif isinstance(value, tuple) and value and all(isinstance(v, s.Expr) for v in value):
            updates[name] = tuple(placed_at(v, span) for v in value)
    return replace(expr, **updates)  # type: ignore[arg-type]
