"""Compiles the loops of MATCH_RECOGNIZE ahead, into the cache on disk, so that no query waits for them."""

from __future__ import annotations

from presage.operators.match.kernel.warm_matches import warm_matches
from presage.operators.match.kernel.warm_measures import warm_measures


def warm() -> None:
    """Run each kind of kernel on a few rows."""
    warm_matches()
    warm_measures()


if __name__ == "__main__":
    warm()
