"""Compiles the loops of all sequence kernels into the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

from presage.operators.sequence.kernel.hidden_markov.warm import warm_hidden_markov
from presage.operators.sequence.kernel.regular.warm import warm_regular
from presage.operators.sequence.kernel.safe.warm import warm_safe
from presage.operators.sequence.kernel.worlds.warm import warm_worlds


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    warm_regular()
    warm_safe()
    warm_worlds()
    warm_hidden_markov()


if __name__ == "__main__":
    warm()
