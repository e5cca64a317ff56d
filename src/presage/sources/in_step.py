"""Rows of several partitions in, how far each may go on out: none runs ahead of another in event time.

A partition that has more to bring than was read bounds the others: what lies after its last time would, if it went on
first, make the rest of that partition late. Partitions that were read to their end wait for nobody and bound nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def in_step(rows: Mapping[int, tuple[Numbers, Numbers]], ended: Mapping[int, bool]) -> dict[int, int]:
    """`rows`: offsets and times of what was read, by partition; `ended`: nothing comes after that now. Out: the offset
    from which on a partition must wait. The one with the least bound goes on as a whole, so there is always progress.
    """
    bounds = [int(times.max()) for p, (_, times) in rows.items() if len(times) and not ended[p]]
    if not bounds:
        return {}
    beyond = {p: np.flatnonzero(times > min(bounds)) for p, (_, times) in rows.items()}
    return {p: int(rows[p][0][late[0]]) for p, late in beyond.items() if len(late)}
