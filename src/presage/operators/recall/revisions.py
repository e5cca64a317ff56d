"""Revisions: the changes of an event's rows since the last report (insert, update, delete)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import changes, lexical_order, ordinals
from presage.execution.steps import MOMENT
from presage.operators.recall import nodes
from presage.plan.nodes import SEQ, TIME, order_columns

_CHANGES = np.array([nodes.INSERT, nodes.UPDATE, nodes.DELETE], dtype=object)


@dataclass(frozen=True)
class ReportedRows:
    """The rows of the `active` events: the event of each, its outputs, and the values that identify it. `covered`: from
    which time on history has been read for each event."""

    event: Ints
    outputs: Mapping[str, pa.Array]
    identity: Mapping[str, pa.Array]
    active: Bools
    finished: Bools
    covered: Ints


class Revisions:
    """The last reported rows of each event."""

    def __init__(self, node: nodes.Recall, events: int) -> None:
        self._node = node
        self.count = np.zeros(events, np.int64)  # revisions of each event
        # Rows with an identity are updated by every revision, which covers more of history. The others are updated only
        # by the last one, from which on they do not depend on a part of history.
        self._changing = any(recall.identity is not None for recall in node.recalls)
        self.last: pa.Table | None = None  # the current rows: the event, the outputs, the identity

    def report(self, rows: ReportedRows, events: pa.Table, ids: pa.Array) -> pa.Table:
        if self._node.final:
            keep = rows.finished[rows.event]
            outputs, identity = (
                {n: a.filter(pa.array(keep)) for n, a in part.items()} for part in (rows.outputs, rows.identity)
            )
            rows = replace(rows, event=rows.event[keep], outputs=outputs, identity=identity, active=rows.finished)
        self.count[rows.active] += 1
        now = pa.table({"event": pa.array(rows.event), **_prefixed("v", rows.outputs), **_prefixed("i", rows.identity)})
        before = self._before(rows.active, now.schema)
        pairs, alone, gone = _matched(before, now, [n for n in now.column_names if n.startswith("i")])
        change = np.full(now.num_rows, -1)
        change[alone] = 0
        change[pairs if self._changing else pairs[rows.finished[rows.event[pairs]]]] = 1
        self._remember(now, rows.active)
        shown = pa.concat_tables([now.filter(pa.array(change >= 0)), before.take(pa.array(gone))])
        kinds = np.concatenate((change[change >= 0], np.full(len(gone), 2)))
        return self._rows(shown, kinds, rows, events, ids)

    def _before(self, active: Bools, schema: pa.Schema) -> pa.Table:
        if self.last is None:
            return schema.empty_table()
        return self.last.filter(pa.array(active[self.last["event"].to_numpy()]))

    def _remember(self, now: pa.Table, active: Bools) -> None:
        if self.last is None:
            self.last = now
            return
        others = self.last.filter(pa.array(~active[self.last["event"].to_numpy()]))
        self.last = pa.concat_tables([others, now])

    def _rows(self, shown: pa.Table, kinds: Ints, rows: ReportedRows, events: pa.Table, ids: pa.Array) -> pa.Table:
        event = shown["event"].to_numpy()
        node, depth = self._node, self._node.input.depth
        order = lexical_order([event]) if len(event) else np.zeros(0, np.int64)
        shown, event, kinds = shown.take(pa.array(order)), event[order], kinds[order]
        places = pa.array(event)
        names = order_columns(depth + 2)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            name: events[name].take(places) for name in (TIME, SEQ, *names[:depth])
        }
        columns[names[depth]] = pa.array(self.count[event])
        columns[names[depth + 1]] = pa.array(ordinals(changes([event], len(event))))
        columns |= {o.name: shown[f"v{i}"] for i, o in enumerate(node.outputs)}
        values = {
            nodes.EVENT_ID: ids.take(places),
            nodes.COVERED_FROM: pa.array(rows.covered[event]).cast(MOMENT),
            nodes.COVERED_TO: events[TIME].take(places).cast(pa.int64()).cast(MOMENT),
            nodes.REVISION: pa.array(self.count[event]),
            nodes.CHANGE: pa.array(_CHANGES[kinds], pa.string()),
            nodes.EXTRAPOLATED: pa.array(~rows.finished[event]),
        }
        return pa.table(columns | {f.name: values[f.name] for f in node.revision_columns})


def _prefixed(prefix: str, arrays: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    return {f"{prefix}{i}": array for i, array in enumerate(arrays.values())}


def _matched(before: pa.Table, now: pa.Table, identity: list[str]) -> tuple[Ints, Ints, Ints]:
    """Rows of `now` that are in `before` and those that are not, and rows of `before` that are not in `now`."""
    both = pa.concat_tables([before.select(["event", *identity]), now.select(["event", *identity])])
    codes, count = equality_codes([both["event"], *(both[n] for n in identity)], both.num_rows)
    old, new = codes[: before.num_rows], codes[before.num_rows :]
    # Of several equal rows, the first one matches the first one before, and so on.
    old_keys = _numbered(old, count)
    new_keys = _numbered(new, count)
    there = np.isin(new_keys, old_keys)
    return np.flatnonzero(there), np.flatnonzero(~there), np.flatnonzero(~np.isin(old_keys, new_keys))


def _numbered(codes: Ints, count: int) -> Ints:
    """A number for each row, from its code and the count of earlier rows of that code."""
    order = np.argsort(codes, kind="stable")
    place = np.empty(len(codes), np.int64)
    place[order] = ordinals(changes([codes[order]], len(codes)))
    return place * max(count, 1) + codes
