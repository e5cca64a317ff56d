"""How many masks a draw of the sampler needs: those of all events that its rows reach over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from presage.operators.sequence.kernel.worlds.sampling import _most_events


@pytest.mark.parametrize(
    ("rows", "events", "masks"),
    [
        ([0, 2, 2, 5], [4, 9, 1, 3, 8], 8),  # of nine alternatives some are left out that no goal can take
        ([0, 1], [7], 1),
        ([0, 3], [2, 3, 4], 3),
        ([0, 0, 0], [], 1),
        ([0, 0, 2], [5, 5], 1),
    ],
)
def test_masks_reach_from_the_first_event_of_a_draw_to_its_last(rows: list[int], events: list[int], masks: int) -> None:
    draws: Any = SimpleNamespace(rows=np.array(rows))
    alternatives: Any = SimpleNamespace(event=np.array(events, np.int64))
    assert _most_events(draws, alternatives) == masks
