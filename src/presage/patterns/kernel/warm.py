"""Nothing comes in, compiled loops go out to the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

from presage.patterns.kernel.warm_matches import warm_matches
from presage.patterns.kernel.warm_measures import warm_measures
from presage.patterns.kernel.warm_patterns import warm_patterns


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    warm_matches()
    warm_measures()
    warm_patterns()


if __name__ == "__main__":
    warm()
