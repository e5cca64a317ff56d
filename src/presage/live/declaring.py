"""The catalog's log of a home in, its declarations and statements known again out."""

from __future__ import annotations

import pyarrow as pa

from presage.analyze.constant_arguments import patterns_of_older_homes
from presage.errors import located
from presage.knowledge.contexts import read_context
from presage.live.standing import KIND, Standing
from presage.log import CatalogEntry, Log
from presage.log.keeping import latest_knowledge, recall
from presage.workspace import Workspace


def declare_again(log: Log, workspace: Workspace, standing: Standing, relations: dict[str, pa.Table]) -> None:
    """Declare in order what the home's catalog holds; `relations` get their rows."""
    entries = list(log.catalog_entries())
    # What was accepted once is declared again, whatever has been refused since.
    with patterns_of_older_homes():
        _declare_all(entries, log, workspace, standing, relations)
    standing.set_refused_aside()


def _declare_all(
    entries: list[CatalogEntry], log: Log, workspace: Workspace, standing: Standing, relations: dict[str, pa.Table]
) -> None:
    home, latest = log.home.path, latest_knowledge(entries)
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
