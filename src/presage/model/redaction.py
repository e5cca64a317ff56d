"""Redaction of secrets in texts, with one register for the whole process.

A secret (`env:NAME` in an option) is registered when it is resolved; log lines, metrics and other output go through
`masked`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

MASK = "***"
SHORTEST = 4  # shorter values would match inside of ordinary words

_lock = threading.Lock()
_secrets: tuple[str, ...] = ()  # the longest first: one may contain another


def keep_out(value: str) -> None:
    """Register a secret, with its spellings in JSON and Prometheus."""
    global _secrets
    with _lock:
        if value not in _secrets:
            fresh = {form for form in _forms(value) if len(form) >= SHORTEST}
            _secrets = tuple(sorted({*_secrets, *fresh}, key=len, reverse=True))


def masked(text: str) -> str:
    """The text with all secrets replaced by MASK."""
    for value in _secrets:
        text = text.replace(value, MASK)
    return text


def _forms(value: str) -> Iterator[str]:
    """The spellings of a value in messages, JSON and Prometheus: as it is, by line, stripped, escaped."""
    for form in (value, *value.splitlines()):
        yield form.strip()
        yield from (quoted[1:-1] for quoted in (repr(form), json.dumps(form), json.dumps(form, ensure_ascii=False)))
    yield value
