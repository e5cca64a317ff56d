"""Declarations in, what the catalog's entry must say of them out, and back: what files held when they were declared.

A home opens again when those files have moved or changed: rows of relations, texts of models and contexts, and the
digests of knowledge bases are kept in it.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.catalog import Catalog, Model
from presage.model.paths import ANYWHERE, Roots
from presage.model.semantics import Context
from presage.storage.catalog_log import CatalogEntry
from presage.storage.disk import storage
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


COPY = "model"  # in the catalog's entry: the path of the copy below the home
DIGEST = "digest"  # of the copy; entries of earlier versions have none


def keep_model(home: Path, model: Model | None) -> dict[str, str]:
    """Keep the text of a model that is declared now, if there is one; what the catalog's entry must say of it.

    A copy that no entry names is harmless.
    """
    if model is None:
        return {}
    return {COPY: _write(home, model.text), DIGEST: _digest(model.text.encode())}


def recall_model(home: Path, catalog: Catalog, name: str, extra: Mapping[str, Any]) -> Catalog:
    """The catalog in which the model of an entry says what it said when it was declared."""
    model = catalog.models.get(name)
    if model is None or COPY not in extra:
        return catalog
    return catalog.with_model(replace(model, text=read_model(home, name, extra)))


def read_model(home: Path, name: str, extra: Mapping[str, Any]) -> str:
    """The text of a model that an entry names; HOME_CORRUPT if it is not what was kept."""
    relative = extra[COPY]
    try:
        data: bytes = (home / relative).read_bytes()
        if extra.get(DIGEST, _digest(data)) != _digest(data):
            raise ValueError("its checksum is wrong")
        return data.decode()
    except (OSError, ValueError) as failure:
        raise error(
            "HOME_CORRUPT",
            what=f"the copy '{relative}' of model '{name}'",
            path=home,
            why=str(failure),
            fix="restore the file from a backup of the home",
        ) from failure


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(home: Path, text: str) -> str:
    # Not by the model's name: a name may hold any character, a path must not.
    relative = f"models/{uuid.uuid4().hex}.json"
    path = home / relative
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as sink:
        sink.write(text)
        sink.flush()
        os.fsync(sink.fileno())
    return relative


CONTEXT, SOURCES, SINCE = "context", "sources", "since"


def keep_knowledge(name: str, before: Catalog, after: Catalog) -> dict[str, Any]:
    """What an entry says of a declaration: the text of a context, the paths and digests of a knowledge base."""
    event_type, base = after.types.get(name), after.knowledge.get(name)
    if event_type is not None and event_type.context is not None and name not in before.types:
        return {CONTEXT: {"path": event_type.context.path, "text": event_type.context.text}}
    if base is not None and base != before.knowledge.get(name):
        return {SOURCES: [list(pair) for pair in zip(base.paths, base.files, strict=True)], SINCE: base.since}
    return {}


def recall_knowledge(
    catalog: Catalog, name: str, extra: Mapping[str, Any], read: Callable[[str, str], Context]
) -> Catalog:
    """The catalog in which the context or the knowledge base of an entry says what it said then."""
    said, sources = extra.get(CONTEXT), extra.get(SOURCES)
    if said is not None and name in catalog.types:
        context = read(said["text"], said["path"])
        catalog = catalog.with_type(replace(catalog.types[name], context=context))
    if sources is not None and name in catalog.knowledge:
        paths, digests = zip(*sources, strict=True)
        known = replace(catalog.knowledge[name], paths=paths, files=digests, since=extra[SINCE])
        catalog = catalog.with_knowledge(known)
    return catalog
