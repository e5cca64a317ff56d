"""The one JSON shape of errors over HTTP: `{"errors": [{code, message, fix, line, column, …}]}`. Loads no engine."""

from __future__ import annotations

import json
from typing import Any

from presage.errors import Diagnostic, PresageError


def as_json(problem: Diagnostic) -> dict[str, Any]:
    """One error or warning, also with its offsets in the text, for editors."""
    span = problem.span if problem.source is not None else None
    return {**problem.as_dict(), "start": span.start if span else None, "end": span.end if span else None}


def all_as_json(problem: PresageError) -> list[dict[str, Any]]:
    return [as_json(each) for each in (problem, *problem.others)]


def body_of(problem: PresageError) -> bytes:
    return json.dumps({"errors": all_as_json(problem)}).encode()
