"""Nothing comes in, compiled loops go out to the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

from presage.probability.kernel.warm_hidden_markov import warm_hidden_markov
from presage.probability.kernel.warm_regular import warm_regular
from presage.probability.kernel.warm_safe import warm_safe
from presage.probability.kernel.warm_worlds import warm_worlds


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    warm_regular()
    warm_safe()
    warm_worlds()
    warm_hidden_markov()


if __name__ == "__main__":
    warm()
