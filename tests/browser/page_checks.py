"""A page in, what is wrong with it for those who do not see it, or not well, out; and how busy it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


# The times between two frames, from now on.
WATCH_FRAMES = """
() => {
  window.watched = { gaps: [] };
  let last = performance.now();
  const frame = (now) => { watched.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}
"""


class Busy:
    """How much of the time since it was made the main thread of the page has used a processor."""

    def __init__(self, page: Any) -> None:
        self._asked = page.context.new_cdp_session(page)
        self._asked.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._used(), time.monotonic()

    def share(self) -> float:
        used, began = self._before
        return (self._used() - used) / (time.monotonic() - began)

    def _used(self) -> float:
        found = self._asked.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


def faults(page: Any) -> list[str]:
    """Controls without a name, tables without heads, pictures that say nothing, headings out of order."""
    found: list[str] = page.evaluate((HERE / "names.js").read_text())
    return found


def too_faint(page: Any) -> list[str]:
    """Texts whose contrast is too low."""
    found: list[str] = page.evaluate((HERE / "contrast.js").read_text())
    return found
