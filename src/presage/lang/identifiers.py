"""Reserved words, and the spelling of names: bare, or in back-ticks if they are irregular or reserved."""

from __future__ import annotations

import re

# A reserved word is a name only after a dot, after AS, in declarations and in back-ticks. All other keywords
# are names wherever the grammar does not accept the keyword.
_RESERVED = """
    WINDOW CONTEXT RECALL FINAL DEFINE WITHIN
    SELECT TENTATIVE DISTINCT FROM AS JOIN INNER ON WHERE GROUP BY HAVING OUTPUT WITH INSERT INTO
    AND OR NOT IN IS BETWEEN LIKE NULL TRUE FALSE CASE WHEN THEN ELSE END CAST
"""
RESERVED = frozenset(_RESERVED.split())
_PLAIN = re.compile(r"[^\W\d]\w*")


def is_reserved(word: str) -> bool:
    return word.isascii() and word.upper() in RESERVED


def spell_name(name: str, keywords: frozenset[str] = frozenset()) -> str:
    """The spelling from which parsing gives this name; `keywords` are further words with a meaning there."""
    if _PLAIN.fullmatch(name) and not is_reserved(name) and not (name.isascii() and name.upper() in keywords):
        return name
    return f"`{name.replace('`', '``')}`"


def spell_new(name: str, if_not_exists: bool) -> str:
    """The name after CREATE and what is created."""
    return ("IF NOT EXISTS " if if_not_exists else "") + spell_name(name)


def read_name(text: str) -> str:
    """The name that a word or a text in back-ticks spells."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def spell_string(value: str) -> str:
    """The string in single quotes, on one line."""
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"
