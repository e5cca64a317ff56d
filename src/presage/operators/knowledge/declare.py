"""CREATE KNOWLEDGE and REFRESH KNOWLEDGE: the files are read into the library, and must form one consistent graph."""

from __future__ import annotations

from dataclasses import replace

from presage.declarations.catalog_objects import refuse_known
from presage.declarations.extension import DeclarationContext, Declarations
from presage.errors import did_you_mean, error, placed
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.model.catalog import Catalog
from presage.model.semantics import Knowledge
from presage.model.text import Span


def declare_knowledge(node: CreateKnowledge, context: DeclarationContext, again: bool) -> Catalog:
    """The catalog with a new knowledge base."""
    refuse_known(node.name, context.catalog, node.span)
    with placed(node.span):
        files = [(path, "") if again else _take_in(path, context) for path in node.paths]
    paths, digests = tuple(path for path, _ in files), tuple(digest for _, digest in files)
    after = context.catalog.with_knowledge(Knowledge(node.name, paths, node.reasoning, digests, context.now()))
    return after if again else _consistent(after, context, node.span)


def refresh_knowledge(node: RefreshKnowledge, context: DeclarationContext, again: bool) -> Catalog:
    """The catalog with the current files of a knowledge base."""
    if again:
        return context.catalog
    base = context.catalog.knowledge.get(node.name)
    if base is None:
        fix = did_you_mean(node.name, context.catalog.knowledge, "declare it with CREATE KNOWLEDGE")
        raise error("UNKNOWN_OBJECT", node.span, kind="knowledge base", name=node.name, fix=fix)
    with placed(node.span):
        digests = tuple(context.library.take_in(path, context.allowed) for path in base.paths)
    if digests == base.files:
        return context.catalog
    after = context.catalog.with_knowledge(replace(base, files=digests, since=context.now()))
    return _consistent(after, context, node.span)


def _take_in(path: str, context: DeclarationContext) -> tuple[str, str]:
    """Store a file; returns its path and digest."""
    if "://" in path:
        where, fix = "as a file: nothing is fetched from the network", "save it in a file, and name that"
        raise error("UNSUPPORTED", what=f"'{path}'", where=where, fix=fix)
    file = context.resolve(path)
    return file, context.library.take_in(file, context.allowed)


def _consistent(after: Catalog, context: DeclarationContext, span: Span) -> Catalog:
    """The catalog, if its knowledge bases can be loaded together; else raises, and the old ones stay."""
    with placed(span):
        context.library.graph(after.knowledge.values())
    return after


DECLARATIONS = Declarations({CreateKnowledge: declare_knowledge, RefreshKnowledge: refresh_knowledge})
