"""The catalog's log of a home in, its declarations and statements known again out."""

from __future__ import annotations

import pyarrow as pa

from presage.errors import located
from presage.knowledge.contexts import read_context
from presage.live.standing import KIND, Standing
from presage.log import Log
from presage.log.keeping import latest_knowledge, recall
from presage.workspace import Workspace


def declare_again(log: Log, workspace: Workspace, standing: Standing, relations: dict[str, pa.Table]) -> None:
    """Declare in order what the home's catalog holds; `relations` get their rows."""
    home, entries = log.home.path, list(log.catalog_entries())
    latest = latest_knowledge(entries)
    for entry in entries:
        if entry.kind == KIND:
            standing.replay(entry)
            continue
        script = workspace.parse(entry.text, f"catalog of {home}")
        with located(script.source):
            for statement in script.statements:
                workspace.catalog = workspace.declare(statement, again=True)
        workspace.catalog, tables = recall(home, workspace.catalog, entry, latest, read_context)
        relations |= tables
