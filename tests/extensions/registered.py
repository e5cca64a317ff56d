"""The extension of `market/`, registered for as long as a test runs: tables are as before afterwards."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from presage.functions import scalars
from presage.functions.aggregates import aggregate
from presage.operators.windows import window_types

FOLDER = Path(__file__).parent / "market"
MODULE = "market_extension"
TABLES = (aggregate._TABLE, window_types._TABLE, scalars.BY_NAME, scalars.FAMILIES)


@contextmanager
def registered() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    sys.path.insert(0, str(FOLDER))
    try:
        importlib.import_module(MODULE)
        yield
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop(MODULE, None)
        for table, entries in zip(TABLES, before, strict=True):
            table.clear()
            table.update(entries)  # type: ignore[arg-type]
