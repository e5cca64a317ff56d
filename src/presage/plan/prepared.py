"""Prepared columns: expressions over single rows that are computed before a kernel runs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from presage.plan.expr import Expr
from presage.plan.nodes import Named


@dataclass
class Prepared:
    """Assigns a column name to each distinct expression."""

    prefix: str
    named: list[Named] = field(default_factory=list)
    _names: dict[Hashable, str] = field(default_factory=dict)

    def name(self, value: Expr) -> str:
        found = self._names.get(value)
        if found is None:
            found = f"{self.prefix}{len(self.named)}"
            self._names[value] = found
            self.named.append(Named(found, value))
        return found
