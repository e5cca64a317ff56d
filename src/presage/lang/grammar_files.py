"""The grammar files of the language's capabilities, in order, and the builders of their nodes."""

from __future__ import annotations

import os
from types import ModuleType

from presage.lang.builders import (
    commands,
    declare,
    knowledge,
    match,
    patterns,
    prediction,
    query,
    recall,
    sequences,
    terms,
    types,
    within,
)
from presage.lang.lalr import Builder

FOLDER = os.path.join(os.path.dirname(__file__), "grammar")
# Each name is a file grammar/<name>.lark. A later one may extend the rules of those before it.
GRAMMARS = (
    *("tokens", "terms", "types", "windows", "within", "query", "patterns", "match", "declare", "sequences"),
    *("prediction", "knowledge", "recall", "sinks", "show", "commands"),
)
BUILDERS: tuple[ModuleType, ...] = (
    *(terms, types, within, query, patterns, match, declare, sequences, prediction, knowledge, recall, commands),
)
# What can be parsed by itself: one statement, or one term.
GOALS = ("statement", "term")


def compose_grammar() -> str:
    """The one grammar of all capabilities, as text for Lark."""
    texts = []
    for name in GRAMMARS:
        with open(os.path.join(FOLDER, f"{name}.lark"), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def compose_builders() -> dict[str, Builder]:
    """Builders of all capabilities by the name of their rule."""
    return {rule: builder for module in BUILDERS for rule, builder in module.BUILDERS.items()}
