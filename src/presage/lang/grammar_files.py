"""The list of the language's capabilities, in order: each has a grammar file and the builders of its nodes."""

from __future__ import annotations

import os

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
    show,
    sinks,
    terms,
    types,
    windows,
    within,
)
from presage.lang.lalr import Builder

FOLDER = os.path.join(os.path.dirname(__file__), "grammar")
# Each name is a file grammar/<name>.lark. A later one may extend the rules of those before it.
CAPABILITIES: tuple[tuple[str, dict[str, Builder]], ...] = (
    ("tokens", {}),
    ("terms", terms.BUILDERS),
    ("types", types.BUILDERS),
    ("windows", windows.BUILDERS),
    ("within", within.BUILDERS),
    ("query", query.BUILDERS),
    ("patterns", patterns.BUILDERS),
    ("match", match.BUILDERS),
    ("declare", declare.BUILDERS),
    ("sequences", sequences.BUILDERS),
    ("prediction", prediction.BUILDERS),
    ("knowledge", knowledge.BUILDERS),
    ("recall", recall.BUILDERS),
    ("sinks", sinks.BUILDERS),
    ("show", show.BUILDERS),
    ("commands", commands.BUILDERS),
)
# What can be parsed by itself: one statement, or one term.
GOALS = ("statement", "term")


def compose_grammar() -> str:
    """The one grammar of all capabilities, as text for Lark."""
    texts = []
    for name, _ in CAPABILITIES:
        with open(os.path.join(FOLDER, f"{name}.lark"), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def compose_builders() -> dict[str, Builder]:
    """Builders of all capabilities by the name of their rule."""
    return {rule: builder for _, builders in CAPABILITIES for rule, builder in builders.items()}
