"""A join over what a bounded buffer holds, one state after the other: the slow twin of asking all states at once.

Between two updates the buffer does not change. So its pieces are joined anew for every such span of time, and the parts
are put together in the end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.pieces import Pieces

# Keys, from, to, whether these are open; times in microseconds.
Part = tuple[tuple[int, ...], int, int, bool, bool]
# Pieces, after when, up to when; the last None: for ever.
Ask = Callable[[Pieces, int, "int | None"], list[Part]]


def parts_of_states(
    spec: BufferSpec, time: np.ndarray, key: np.ndarray, values: np.ndarray, rates: np.ndarray, ask: Ask
) -> list[Part]:
    """Updates in order of time. A state is asked for the times from its last update on, and before the next one."""
    buffer, found = Buffer(spec), []
    moments = np.unique(time)
    for number, moment in enumerate(moments.tolist()):
        now = time == moment
        buffer.feed(time[now], key[now], values[now], rates[now])
        until = int(moments[number + 1]) if number + 1 < len(moments) else None
        parts = ask(pieces_held(buffer), moment - 1, until)
        found += [part for part in (within(part, moment, until) for part in parts) if part is not None]
    return found


def within(part: Part, moment: int, until: int | None) -> Part | None:
    """What of a part lies at or after a moment, and before another."""
    keys, start, end, start_open, end_open = part
    if start < moment:
        start, start_open = moment, False
    if until is not None and end >= until:
        end, end_open = until, True
    empty = start > end or (start == end and (start_open or end_open))
    return None if empty else (keys, start, end, start_open, end_open)


def pieces_held(buffer: Buffer) -> Pieces:
    held = buffer.in_force()
    value = held.values + held.rates * ((held.start - held.time) / 1e6)[:, None]
    return Pieces(held.key, held.start, held.end, held.end_open, value, held.rates, held.thresholds)


def united(parts: list[Part]) -> list[tuple[tuple[int, ...], int, int]]:
    """The maximal intervals: parts that overlap, or touch in a point that belongs to one of them, are one."""
    rows: list[list] = []
    for keys, start, end, start_open, end_open in sorted(parts, key=lambda part: (part[0], part[1], part[3])):
        if rows and rows[-1][0] == keys:
            _, _, last, last_open = rows[-1]
            if start < last or (start == last and not (start_open and last_open)):
                if (end, not end_open) > (last, not last_open):
                    rows[-1][2:] = [end, end_open]
                continue
        rows.append([keys, start, end, end_open])
    return [(keys, start, end) for keys, start, end, _ in rows]
