"""Whether Arrow knows pandas: its first array imports it, to recognize a Series, and a small query takes no longer."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from types import ModuleType

import pyarrow as pa


def leave_pandas_out() -> None:
    """For a process that has no object of pandas. What converts to pandas still imports it, here and in Arrow."""
    # Functions of extensions may return a Series.
    if "pandas" in sys.modules or os.environ.get("PRESAGE_EXTENSIONS"):
        return
    # Arrow looks for pandas once, and does without a version that is too old.
    none: ModuleType = ModuleType("pandas")
    vars(none)["__version__"] = "0"
    sys.modules["pandas"] = none
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pa.array([])
    finally:
        del sys.modules["pandas"]


@cache
def ensure_pandas() -> None:
    """From here on Arrow recognizes objects of pandas, and makes them of nanoseconds."""
    pa.nulls(0).to_pandas()
