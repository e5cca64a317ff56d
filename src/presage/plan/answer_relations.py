"""Names of the relations that hold answers of the knowledge bases.

Plans join them like other relations; what runs a plan tells by their names where they come from.
"""

from __future__ import annotations

COMPUTED = "path_"  # computed once over the knowledge bases
PROBED = "asked_"  # only the store can answer, key by key


def is_answer(name: str) -> bool:
    """Whether a relation of this name holds answers of the knowledge bases."""
    return name.startswith((COMPUTED, PROBED))


def is_asked(name: str) -> bool:
    """Whether only the store can answer it, key by key."""
    return name.startswith(PROBED)
