"""Rows of Arrow tables as JSON."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from presage.model.json_values import plain_column

# The most rows of one response.
MOST_ROWS = 10_000


def table_as_json(table: pa.Table, limit: int = MOST_ROWS) -> dict[str, Any]:
    """The first rows, the columns with their types, and how many rows there are in all."""
    shown = table.slice(0, limit)
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": rows_as_json(shown),
        "total": table.num_rows,
    }


def rows_as_json(table: pa.Table) -> list[list[Any]]:
    return [list(row) for row in zip(*(plain_column(column) for column in table.columns), strict=True)]
