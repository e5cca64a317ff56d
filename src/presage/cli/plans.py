"""A text in, the EXPLAIN of each of its queries out; declarations before them count, and nothing is carried out."""

from __future__ import annotations

from pathlib import Path

from presage.errors import error
from presage.lang import syntax as s
from presage.model.catalog import Catalog
from presage.workspace import Workspace


def explain_all(text: str, name: str, home: Path | None) -> list[str]:
    """The plans, each with a heading if there are several."""
    roots = [Path.cwd(), *([home] if home is not None else [])]
    catalog = _catalog_of(home) if home is not None else Catalog()
    script = Workspace(roots, Path.cwd(), catalog).check(text, name)
    workspace = Workspace(roots, Path.cwd(), catalog)
    plans: list[tuple[str, str]] = []
    for statement in script.statements:
        query = statement.statement if isinstance(statement, s.Explain) else statement
        if isinstance(query, s.Query):
            shown = " ".join(script.source.text[query.span.start : query.span.end].split())
            plans.append((shown, workspace.explain(workspace.bind(query))))
        if isinstance(statement, s.CreateType | s.CreateRelation | s.Drop) or (
            isinstance(statement, s.Query) and statement.insert_into is not None
        ):
            workspace.catalog = workspace.declare(statement)
    if not plans:
        raise error("SYNTAX", None, script.source, found="no query", expected="a query", fix="add a SELECT to explain")
    if len(plans) == 1:
        return [plans[0][1].rstrip("\n")]
    lines = []
    for number, (shown, plan) in enumerate(plans, 1):
        lines += [f"── {number} of {len(plans)} ── {shown}", plan.rstrip("\n"), ""]
    return lines[:-1]


def _catalog_of(home: Path) -> Catalog:
    # Only a home needs the archive's libraries.
    from presage.engine import Engine

    with Engine(home=home, live=False) as engine:
        return engine.catalog
