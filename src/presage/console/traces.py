"""The events of the newest matches of deployed statements: read once, then only what is new."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from presage.console.tails import Tails
from presage.live.deployment import Deployment
from presage.live.match_trace import MatchTrace
from presage.model.time import format_timestamp

MOST_ROWS = 500


@dataclass
class Traces:
    """A cache for pages that poll."""

    _known: dict[str, tuple[str, MatchTrace]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, deployment: Deployment, tails: Tails, first: int) -> dict[str, Any]:
        """From row number `first` on, the newest ones only: names and times of the events of each; null where that
        cannot be told."""
        begin, rows = tails.numbered(deployment)
        skipped = max(first - begin, rows.num_rows - MOST_ROWS, 0)
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
