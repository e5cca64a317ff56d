"""SHOW and DESCRIBE: declarations, archive, deployed statements, sources."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from presage.lang import syntax as s
from presage.live.deployment import Shown, describe_statement, show_statements
from presage.live.deployments import DeploymentRegistry
from presage.live.recall_commands import show_recalls
from presage.storage import Archive
from presage.storage.catalog_views import describe, show
from presage.workspace import Workspace

# By stream that has a source: its state, and its properties for DESCRIBE.
SourcesShown = Mapping[str, tuple[str, list[tuple[str, str]]]]


def execute_show(
    statement: s.Show | s.Describe,
    workspace: Workspace,
    archive: Archive,
    relations: Mapping[str, pa.Table],
    deployments: DeploymentRegistry,
    sources: SourcesShown,
) -> Shown:
    """Names of columns, and rows."""
    catalog = workspace.catalog
    if isinstance(statement, s.Show):
        if statement.what == "statements":
            return show_statements(deployments)
        if statement.what == "recalls":
            return show_recalls(deployments.job)
        return show(statement.what, catalog, archive, {name: state for name, (state, _) in sources.items()})
    if statement.name not in catalog.taken() and statement.name in deployments:
        return describe_statement(deployments[statement.name])
    workspace.named(statement.name, statement)
    names, rows = describe(statement.name, catalog, archive, relations)
    return names, [*rows, *sources.get(statement.name, ("", []))[1]]
