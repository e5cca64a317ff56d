"""Declarations in, what the catalog's entry must say of them out, and back: what files held when they were declared.

A home opens again when those files have moved or changed: rows of relations, texts of models and contexts, and the
digests of knowledge bases are kept in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.errors import PresageError
from presage.model.catalog import Catalog
from presage.model.paths import ANYWHERE, Roots
from presage.model.semantics import Context
from presage.storage.catalog_log import CatalogEntry
from presage.storage.failures import storage
from presage.storage.knowledge import SOURCES, keep_knowledge, recall_knowledge
from presage.storage.models import COPY, keep_model, read_model, recall_model
from presage.storage.relations import read_copy, relation_table, write_copy

ROWS = "rows"
BEGIN = "begin"  # of a sink: see `model.catalog.Sink`


def keep(
    home: Path, name: str, before: Catalog, after: Catalog, roots: Roots = ANYWHERE
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The rows of relations that are new, and what the entry must say of the declaration."""
    tables = {n: relation_table(r, roots) for n, r in after.relations.items() if n not in before.relations}
    with storage(home):
        copies = {n: write_copy(home, t) for n, t in tables.items() if after.relations[n].path is not None}
        model = keep_model(home, next((m for n, m in after.models.items() if n not in before.models), None))
    rows = {ROWS: copies[name]} if name in copies else {}
    return tables, {**rows, **model, **keep_knowledge(name, before, after)}


def latest_knowledge(entries: Iterable[CatalogEntry]) -> dict[str, Mapping[str, Any]]:
    """By knowledge base: the entry that says what its files held when they were last read. Only that is known again:
    a statement keeps its plan, whatever the bases say."""
    return {entry.name: entry.extra for entry in entries if SOURCES in entry.extra}


def recall(
    home: Path,
    catalog: Catalog,
    entry: CatalogEntry,
    latest: Mapping[str, Mapping[str, Any]],
    read: Callable[[str, str], Context],
) -> tuple[Catalog, dict[str, pa.Table]]:
    """The catalog in which what an entry declared says what it said, and the rows of its relation."""
    catalog = recall_model(home, catalog, entry.name, entry.extra)
    said = {**entry.extra, **latest[entry.name]} if SOURCES in entry.extra else entry.extra
    catalog = recall_knowledge(catalog, entry.name, said, read)
    sink = catalog.sinks.get(entry.name)
    if sink is not None and BEGIN in entry.extra:
        number, row = entry.extra[BEGIN]
        catalog = catalog.with_sink(replace(sink, version=entry.version, begin=(number, row)))
    relation = catalog.relations.get(entry.name)
    if relation is None:
        return catalog, {}
    copy = entry.extra.get(ROWS)
    return catalog, {relation.name: read_copy(home, copy) if copy else relation_table(relation)}


def damaged_copies(home: Path, entries: Iterable[CatalogEntry]) -> Iterator[tuple[str, PresageError]]:
    """The copies of relations and models that entries name and that cannot be read: their paths below the home, and
    why. An opening reads all of them."""
    for entry in entries:
        for key in (ROWS, COPY):
            if key in entry.extra:
                try:
                    read_copy(home, entry.extra[key]) if key == ROWS else read_model(home, entry.name, entry.extra)
                except PresageError as problem:
                    yield entry.extra[key], problem
