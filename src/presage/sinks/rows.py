"""Rows of a batch in, JSON texts out: one object for each row, its id first."""

from __future__ import annotations

import json

from presage.model.json_values import plain_column
from presage.sinks.sink import Batch


def rows_as_json(batch: Batch) -> list[str]:
    """Times in ISO 8601; NaN and infinities as texts, since JSON has no numbers for them."""
    table = batch.with_ids()
    columns = [plain_column(column) for column in table.columns]
    names = table.column_names
    return [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in zip(*columns, strict=True)]
