"""The state of a kernel in, the number of partial matches that are open in it out."""

from __future__ import annotations

from presage.model.state import State
from presage.patterns.kernel import match, pattern

_COUNTS = {match.NAME: match.open_matches, pattern.KERNEL: pattern.open_matches}


def open_matches(state: State) -> int | None:
    """None for a state that is not of this room."""
    count = _COUNTS.get(state.kernel)
    return None if count is None else count(state)
