"""Values that nobody may read in, texts without them out. One register for the whole process.

Whoever resolves a secret (`env:NAME` in an option) tells it here; whatever is written for people or for other programs,
log lines and metrics first of all, goes through `masked`.
"""

from __future__ import annotations

import json
import threading

MASK = "***"
SHORTEST = 4  # a shorter value would be found in the middle of innocent words

_lock = threading.Lock()
_secrets: tuple[str, ...] = ()  # the longest first: one may be a part of another


def keep_out(value: str) -> None:
    """Keep a value out of all that is shown from now on, also as JSON and Prometheus spell it."""
    global _secrets
    spelled = (value, *(json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (False, True)))
    with _lock:
        if len(value) >= SHORTEST and value not in _secrets:
            _secrets = tuple(sorted({*_secrets, *spelled}, key=len, reverse=True))


def masked(text: str) -> str:
    """The text without the values that must not be shown."""
    for value in _secrets:
        text = text.replace(value, MASK)
    return text
