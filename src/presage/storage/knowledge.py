"""Contexts and knowledge bases in, what the catalog's entry must say of them out, and back: the home opens again when
their files have moved or changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from presage.model.catalog import Catalog
from presage.model.semantics import Context

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
