"""Numbered conditions over the columns `a0`, `a1`, … for kernels that cannot compute them themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.plan.expr import Expr


@dataclass(frozen=True)
class EvaluatorPredicates:
    """Conditions that only the evaluator can compute."""

    conditions: Mapping[int, Expr]
    relations: Mapping[str, pa.Table]

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray:
        table = pa.table(arguments, names=[f"a{i}" for i in range(len(arguments))])
        return Evaluator(self.relations).mask(self.conditions[number], table)
