"""The reserved words, and how a name is spelled: bare, or in back-ticks if it is odd or reserved."""

from __future__ import annotations

import re

# A reserved word is a name only after a dot, after AS, in declarations and in back-ticks. All other keywords
# are names wherever the grammar does not wait for the keyword. One line per reason.
RESERVED = frozenset(
    (
        "WINDOW CONTEXT RECALL FINAL DEFINE WITHIN "
        "SELECT TENTATIVE DISTINCT FROM AS JOIN INNER ON WHERE GROUP BY HAVING OUTPUT WITH INSERT INTO "
        "AND OR NOT IN IS BETWEEN LIKE NULL TRUE FALSE CASE WHEN THEN ELSE END CAST"
    ).split()
)
_PLAIN = re.compile(r"[^\W\d]\w*")


def is_reserved(word: str) -> bool:
    return word.isascii() and word.upper() in RESERVED


def spell_name(name: str) -> str:
    """The name as it must be written to be read back as this name."""
    if _PLAIN.fullmatch(name) and not is_reserved(name):
        return name
    return f"`{name.replace('`', '``')}`"


def read_name(text: str) -> str:
    """The name that a word or a back-ticked text stands for."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text
