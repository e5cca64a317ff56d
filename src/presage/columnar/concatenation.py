"""Concatenation of text vectors."""

from __future__ import annotations

import pyarrow.compute as pc

from presage.columnar.vectors import Cells, Vector


def concatenated(*texts: Vector) -> Vector:
    if len({len(text) for text in texts}) == 1:
        return Cells(pc.binary_join_element_wise(*[text.array for text in texts], ""))  # type: ignore[union-attr]
    parts = [text.scalar if len(text) == 1 else text.array for text in texts]  # type: ignore[union-attr]
    return Cells(pc.binary_join_element_wise(*parts, ""))
