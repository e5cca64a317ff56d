"""The last rows of deployed statements, and the events of their matches: read once, then only what is new."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from presage.live.deployment import Deployment
from presage.live.match_trace import MatchTrace
from presage.live.results import schema_of
from presage.model.time import format_timestamp

# Rows of a statement that are kept.
MOST_ROWS = 20_000
# Rows of one answer whose events are told.
MOST_TRACED = 500


@dataclass
class _Tail:
    text: str
    rows: pa.Table
    record: int = 0
    seen: int = 0


@dataclass
class Tails:
    """A cache for pages that poll."""

    _known: dict[str, _Tail] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, deployment: Deployment) -> pa.Table:
        """The last rows of a statement, in order."""
        return self.numbered(deployment)[1]

    def numbered(self, deployment: Deployment) -> tuple[int, pa.Table]:
        """The number of the first of them, too."""
        with self._lock:
            tail = self._known.get(deployment.name)
            # The name may belong to another statement by now.
            if tail is None or tail.text != deployment.text or tail.seen > deployment.rows_out:
                tail = _Tail(deployment.text, schema_of(deployment.columns).empty_table())
                self._known[deployment.name] = tail
            if tail.seen < deployment.rows_out:
                new = list(deployment.after(tail.record, tail.seen))
                if (
                    new and new[0][1] > tail.seen
                ):  # retention removed rows meanwhile: start over, so that there is no gap
                    tail.rows, tail.seen = tail.rows.slice(0, 0), new[0][1]
                tail.rows = pa.concat_tables([tail.rows, *(rows for _, _, rows in new)])
                tail.rows = tail.rows.slice(max(0, tail.rows.num_rows - MOST_ROWS)).combine_chunks()
                tail.record = max((record for record, _, _ in new), default=tail.record)
                tail.seen += sum(rows.num_rows for _, _, rows in new)
            return tail.seen - tail.rows.num_rows, tail.rows


@dataclass
class Traces:
    """A cache for pages that poll."""

    _known: dict[str, tuple[str, MatchTrace]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, deployment: Deployment, tails: Tails, first: int) -> dict[str, Any]:
        """From row number `first` on, the newest ones only: names and times of the events of each; null where that
        cannot be told."""
        begin, rows = tails.numbered(deployment)
        skipped = max(first - begin, rows.num_rows - MOST_TRACED, 0)
        begin, rows = begin + skipped, rows.slice(skipped)
        with self._lock:
            text, tracing = self._known.get(deployment.name, ("", None))
            # The name may belong to another statement by now.
            if tracing is None or text != deployment.text:
                tracing = deployment.trace()
                self._known[deployment.name] = deployment.text, tracing
            deployment.follow(tracing)
            found = tracing.of(begin, rows)
        told = [None if each is None else [[name, format_timestamp(at)] for name, at in each] for each in found]
        return {"first": begin, "possible": tracing.possible, "events": told}
