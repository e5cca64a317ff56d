"""Codec of catalog entries: saves what the files of a declaration contain, and restores it when a home opens.

Rows of relations, texts of models and contexts, and digests of knowledge bases are stored in the home, so that it opens
even if the original files have moved or changed.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from presage.errors import PresageError
from presage.model.catalog import Catalog, Model
from presage.model.paths import ANYWHERE, Roots
from presage.model.semantics import Context
from presage.storage.catalog_log import CatalogEntry
from presage.storage.failures import corrupt, storage
from presage.storage.home import HomeLayout
from presage.storage.relations import read_copy, relation_table, write_copy

ROWS = "rows"
BEGIN = "begin"  # of a sink: see `model.catalog.Sink`


def save_declaration(
    home: HomeLayout, name: str, before: Catalog, after: Catalog, roots: Roots = ANYWHERE
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The rows of new relations, and the `extra` values of the catalog entry."""
    tables = {n: relation_table(r, roots) for n, r in after.relations.items() if n not in before.relations}
    with storage(home.path):
        copies = {n: write_copy(home, t) for n, t in tables.items() if after.relations[n].path is not None}
        model = save_model(home, next((m for n, m in after.models.items() if n not in before.models), None))
    rows = {ROWS: copies[name]} if name in copies else {}
    return tables, {**rows, **model, **save_knowledge(name, before, after)}


def latest_knowledge(entries: Iterable[CatalogEntry]) -> dict[str, Mapping[str, Any]]:
    """By knowledge base: the `extra` of the entry that last read its files. Older content is not restored: a statement
    keeps its plan, whatever the knowledge bases contain."""
    return {entry.name: entry.extra for entry in entries if SOURCES in entry.extra}


def restore_declaration(
    home: HomeLayout,
    catalog: Catalog,
    entry: CatalogEntry,
    latest: Mapping[str, Mapping[str, Any]],
    read: Callable[[str, str], Context],
) -> tuple[Catalog, dict[str, pa.Table]]:
    """The catalog with the saved content of an entry, and the rows of its relation."""
    catalog = restore_model(home, catalog, entry.name, entry.extra)
    extra = {**entry.extra, **latest[entry.name]} if SOURCES in entry.extra else entry.extra
    catalog = restore_knowledge(catalog, entry.name, extra, read)
    sink = catalog.sinks.get(entry.name)
    if sink is not None and BEGIN in entry.extra:
        number, row = entry.extra[BEGIN]
        catalog = catalog.with_sink(replace(sink, version=entry.version, begin=(number, row)))
    relation = catalog.relations.get(entry.name)
    if relation is None:
        return catalog, {}
    copy = entry.extra.get(ROWS)
    return catalog, {relation.name: read_copy(home, copy) if copy else relation_table(relation)}


def damaged_copies(home: HomeLayout, entries: Iterable[CatalogEntry]) -> Iterator[tuple[str, PresageError]]:
    """The copies of relations and models that cannot be read: their paths below the home, and why."""
    for entry in entries:
        for key in (ROWS, COPY):
            if key in entry.extra:
                try:
                    read_copy(home, entry.extra[key]) if key == ROWS else read_model(home, entry.name, entry.extra)
                except PresageError as problem:
                    yield entry.extra[key], problem


COPY = "model"  # in the catalog entry: the path of the copy below the home
DIGEST = "digest"  # of the copy; entries of earlier versions have none


def save_model(home: HomeLayout, model: Model | None) -> dict[str, str]:
    """Save the text of a new model, if there is one; the values for the catalog entry."""
    if model is None:
        return {}
    return {COPY: _write(home, model.text), DIGEST: _digest(model.text.encode())}


def restore_model(home: HomeLayout, catalog: Catalog, name: str, extra: Mapping[str, Any]) -> Catalog:
    """The catalog with the saved text of an entry's model."""
    model = catalog.models.get(name)
    if model is None or COPY not in extra:
        return catalog
    return catalog.with_model(replace(model, text=read_model(home, name, extra)))


def read_model(home: HomeLayout, name: str, extra: Mapping[str, Any]) -> str:
    """The saved text of a model; HOME_CORRUPT if it was changed."""
    relative = extra[COPY]
    try:
        data = home.store.read(home.path / relative)
        if extra.get(DIGEST, _digest(data)) != _digest(data):
            raise ValueError("its checksum is wrong")
        return data.decode()
    except (OSError, ValueError) as failure:
        what, fix = f"the copy '{relative}' of model '{name}'", "restore the file from a backup of the home"
        raise corrupt(what, home.path, failure, fix) from failure


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(home: HomeLayout, text: str) -> str:
    # A name may contain any character, a path must not. A copy that no entry names is harmless.
    relative = f"models/{uuid.uuid4().hex}.json"
    home.store.put(home.path / relative, text.encode())
    return relative


CONTEXT, SOURCES, SINCE = "context", "sources", "since"


def save_knowledge(name: str, before: Catalog, after: Catalog) -> dict[str, Any]:
    """Values for the catalog entry: the text of a context, or the paths and digests of a knowledge base."""
    event_type, base = after.types.get(name), after.knowledge.get(name)
    if event_type is not None and event_type.context is not None and name not in before.types:
        return {CONTEXT: {"path": event_type.context.path, "text": event_type.context.text}}
    if base is not None and base != before.knowledge.get(name):
        return {SOURCES: [list(pair) for pair in zip(base.paths, base.files, strict=True)], SINCE: base.since}
    return {}


def restore_knowledge(
    catalog: Catalog, name: str, extra: Mapping[str, Any], read: Callable[[str, str], Context]
) -> Catalog:
    """The catalog with the saved context or knowledge base of an entry."""
    saved, sources = extra.get(CONTEXT), extra.get(SOURCES)
    if saved is not None and name in catalog.types:
        context = read(saved["text"], saved["path"])
        catalog = catalog.with_type(replace(catalog.types[name], context=context))
    if sources is not None and name in catalog.knowledge:
        paths, digests = zip(*sources, strict=True)
        base = replace(catalog.knowledge[name], paths=paths, files=digests, since=extra[SINCE])
        catalog = catalog.with_knowledge(base)
    return catalog
