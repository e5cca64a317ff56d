"""A window and the events that it looks at in, the size of the window for each of them out."""

from __future__ import annotations

import numpy as np

from presage.arrays.columns import Universe
from presage.arrays.jit import Ints
from presage.operators.windows.kernel.spec import Window


def sizes_of(window: Window, universe: Universe) -> int | Ints:
    """One size, or that of each event where statements of different sizes run as one."""
    if window.sizes:
        sizes: Ints = universe.column(window.sizes).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return sizes
    return window.size if window.type.is_sized else window.type.events


def size_columns(window: Window) -> tuple[str, ...]:
    return (window.sizes,) if window.sizes else ()
