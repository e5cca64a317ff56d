"""EXPLAIN and pictures of the queries in a text. Declarations take effect for later statements; nothing is executed.

It builds a workspace over the knowledge bases of a home, which it must not change, so it names their library.
"""

from __future__ import annotations

from pathlib import Path

from presage.errors import error
from presage.execution.placement import MOST_ROWS, place
from presage.lang import syntax as s
from presage.model.catalog import Catalog
from presage.model.paths import Roots
from presage.operators.knowledge.library import Library
from presage.operators.running import needs_spark
from presage.plan.query import BoundQuery
from presage.workspace import Workspace


def explain_all(text: str, name: str, home: Path | None) -> list[str]:
    """The plans, each with a heading if there are several."""
    workspace, queries = _bound(text, name, home)
    plans = [(shown, _explained(workspace, query)) for shown, query in queries]
    if len(plans) == 1:
        return [plans[0][1]]
    lines = []
    for number, (shown, plan) in enumerate(plans, 1):
        lines += [f"── {number} of {len(plans)} ── {shown}", plan, ""]
    return lines[:-1]


def draw_all(text: str, name: str, home: Path | None) -> str:
    """One picture of all automata and patterns of the queries, as SVG."""
    workspace, queries = _bound(text, name, home)
    return workspace.picture(*(query for _, query in queries)).svg


def _explained(workspace: Workspace, query: BoundQuery) -> str:
    placed = place(workspace.optimize(query).plan, None, "auto", MOST_ROWS, needs_spark)
    return f"{workspace.explain(query).rstrip()}\n\n{placed.section()}"


def _bound(text: str, name: str, home: Path | None) -> tuple[Workspace, list[tuple[str, BoundQuery]]]:
    """The queries in one line each, and bound to what is declared before them."""
    roots = Roots((Path.cwd(), *([home] if home is not None else [])), bounded=False)
    catalog, library = _contents_of(home) if home is not None else (Catalog(), Library())
    script = Workspace(roots, Path.cwd(), catalog, library=library).check(text, name)
    workspace = Workspace(roots, Path.cwd(), catalog, library=library)
    queries: list[tuple[str, BoundQuery]] = []
    for statement in script.statements:
        query = statement.statement if isinstance(statement, s.Explain) else statement
        if isinstance(query, s.Query):
            shown = " ".join(script.source.text[query.span.start : query.span.end].split())
            queries.append((shown, workspace.bind(query, source=script.source)))
        workspace.follow(statement)
    if not queries:
        raise error("SYNTAX", None, script.source, found="no query", expected="a query", fix="add a SELECT to explain")
    return workspace, queries


def _contents_of(home: Path) -> tuple[Catalog, Library]:
    # Only a home needs the archive's libraries.
    from presage.engine import Engine
    from presage.storage.home import open_place

    with Engine(home=home, live=False) as engine:
        catalog = engine.catalog
    store, path = open_place(home)
    return catalog, Library(store, path / "knowledge", keeps=False)
