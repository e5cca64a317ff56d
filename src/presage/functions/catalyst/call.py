"""One call of a scalar function, as its Catalyst compilers see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from pyspark.sql import Column

from presage.model.types import DataType


@dataclass(frozen=True)
class Call:
    """`args` are compiled and of the types `types`; `constants` has the values of those that are constants."""

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
# What a text or an array can be blown up to by one call (repeat, lpad, array_repeat …); past it the result is NULL.
MAX_REPEAT = 1_000_000
