"""The step of `#session`: rows of the sessions that end.

A session of a key ends when no event of the key has come for `size`. An event that comes at that very time begins the
next one. Events that do not pass WHERE are in the window, too: they begin sessions and prolong them. State: the events
of open sessions that pass, and for each key the start of its open session and the time of its last event.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order
from presage.arrays.columns import Universe, bools_of, ints
from presage.arrays.jit import Ints
from presage.operators.windows.kernel.batches import BatchQuery, Closing, Tables, closed_rows
from presage.operators.windows.kernel.spec import PASS, TIME, TIMER
from presage.operators.windows.window_types import START

OPEN, SESSIONS = "open", "sessions"


def step_sessions(query: BatchQuery, tables: Tables, events: pa.Table, clock: int) -> tuple[Tables, pa.Table]:
    """The next tables of the state, and the rows."""
    window = query.window
    before, live = tables.get(SESSIONS), tables.get(OPEN)
    universe = Universe(live, events)
    # An open session stands for its events so far: its row has the time of the last one.
    chain = Universe(before, events)
    known, kept = chain.kept_rows, universe.kept_rows
    keys = [table.select([*window.key, TIME]) for table in (before, live) if table is not None]
    every = Universe(pa.concat_tables(keys), events) if keys else universe
    codes, count = every.codes(window.key)
    of_chain = np.concatenate([codes[:known], codes[known + kept :]])
    time, new = np.concatenate([chain.kept_ints(TIME), ints(events, TIME)]), ints(events, TIME)
    size = window.sizes_of(chain)

    number, first, last = _sessions(of_chain, count, time, size)
    start = np.concatenate([chain.kept_ints(START), new])[first]
    end = time[last] + (size if isinstance(size, int) else size[last])
    open_session = np.zeros(count, np.int64)
    open_session[codes[:known]] = number[:known]
    session = np.concatenate([open_session[codes[known : known + kept]], number[known:]])
    passes = np.concatenate([np.ones(kept, np.bool_), bools_of(events, PASS)])

    due = end <= clock
    row = np.flatnonzero(passes & due[session])
    # Sessions are numbered in the order of their first events; so are those that end at one moment.
    row = row[np.lexsort((session[row], end[session[row]]))]
    own = session[row]
    nothing = np.zeros(row.size, np.int64)
    place = [end[own], nothing + TIMER, *(nothing for _ in query.order)]
    rows = closed_rows(query, universe, Closing(row, own, end[own], place, start[own]))
    still = np.flatnonzero(~due)
    names, bounds = [*window.key, *window.size_columns], {TIME: time[last[still]], START: start[still]}
    after = {
        OPEN: universe.table([TIME, *query.kept_columns], np.flatnonzero(passes & ~due[session]), {}),
        SESSIONS: chain.table(names, last[still], bounds),
    }
    return after, rows


def _sessions(key: Ints, keys: int, time: Ints, size: int | Ints) -> tuple[Ints, Ints, Ints]:
    """Of each row the number of its session, in the order of first rows; of each session its first and last row."""
    order, start = grouped_order(key, keys)
    pause = np.diff(time[order], prepend=0) >= (size if isinstance(size, int) else size[order])
    pause[start[:-1]] = True
    begins = np.flatnonzero(pause)
    first, last = order[begins], order[np.append(begins, order.size)[1:] - 1]
    rank = np.argsort(first)
    number = np.empty(rank.size, np.int64)
    number[rank] = np.arange(rank.size)
    session = np.empty(order.size, np.int64)
    session[order] = number[np.cumsum(pause) - 1]
    return session, first[rank], last[rank]
