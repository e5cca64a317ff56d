"""One call of a scalar function, for its Catalyst compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from pyspark.sql import Column

from presage.model.types import DataType


@dataclass(frozen=True)
class Call:
    """`args` are compiled and have the types `types`; `constants` are the values of constant arguments, by place."""

    name: str
    args: tuple[Column, ...]
    types: tuple[DataType, ...]
    result: DataType
    constants: Mapping[int, object]

    def text(self, index: int) -> str:
        return str(self.constants[index])

    def number(self, index: int, otherwise: int) -> int:
        return cast(int, self.constants[index]) if index < len(self.args) else otherwise


Builder = Callable[[Call], Column]
# The longest text or array that one call makes (repeat, lpad, array_repeat …); beyond it the result is NULL.
MAX_REPEAT = 1_000_000
