"""SHOW and DESCRIBE with all that an engine knows: declarations, archive, standing statements, sources."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from presage.lang import syntax as s
from presage.live.deployment import Shown, describe_statement, show_statements
from presage.live.recalling import show_recalls
from presage.live.standing import Standing
from presage.log import Archive
from presage.log.looking import describe, show
from presage.workspace import Workspace

# By stream that has a source: its state, and its properties for DESCRIBE.
SourcesShown = Mapping[str, tuple[str, list[tuple[str, str]]]]


def look_at(
    statement: s.Show | s.Describe,
    workspace: Workspace,
    archive: Archive,
    relations: Mapping[str, pa.Table],
    standing: Standing,
    sources: SourcesShown,
) -> Shown:
    """Names of columns, and rows."""
    catalog = workspace.catalog
    if isinstance(statement, s.Show):
        if statement.what == "statements":
            return show_statements(standing)
        if statement.what == "recalls":
            return show_recalls(standing.job)
        return show(statement.what, catalog, archive, {name: state for name, (state, _) in sources.items()})
    if statement.name not in catalog.taken() and statement.name in standing:
        return describe_statement(standing[statement.name])
    workspace.named(statement.name, statement)
    names, rows = describe(statement.name, catalog, archive, relations)
    return names, [*rows, *sources.get(statement.name, ("", []))[1]]
