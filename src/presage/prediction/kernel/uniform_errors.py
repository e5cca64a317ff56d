"""Two thresholds and a number come in, the chance that the difference of two uniform errors exceeds it goes out.

The difference of independent errors in ± a and ± b has a trapezoid for a density. The paper (section 5.2) lists fifteen
ranges of K; with the survival function they fall into three, and nothing cancels when one threshold is tiny.
"""

from __future__ import annotations

from presage.prediction.kernel.bare import bare


@bare
def uniform_survival(x: float, wide: float, narrow: float) -> tuple[float, float]:
    """P(e > x) for x >= 0, and the density of e at x; `wide` > 0 is the greater threshold, `narrow` >= 0 the other."""
    if x >= wide + narrow:
        return 0.0, 0.0
    if x > wide - narrow:
        rest = wide + narrow - x
        share = (rest / (2.0 * narrow)) / (2.0 * wide)
        return 0.5 * rest * share, share
    return 0.5 - x / (2.0 * wide), 0.5 / wide
