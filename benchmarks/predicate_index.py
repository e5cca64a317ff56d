"""Many conditions over one batch: the index of conditions against one after the other.

Events: 10,000 ticks of 50 symbols. Statement i asks `sym = 'S…' AND price > …`, all with constants of their own. The
floor of the index is one condition alone, computed once over all rows. Interleaved runs, the minimum of seven.
Run as: python benchmarks/predicate_index.py [events]
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from interleaved import minima, report

from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_index import PredicateIndex
from presage.model import types as t
from presage.plan.expr import And, ColumnRef, Comparison, Constant, Expr

SYMBOLS = 50
STATEMENTS = (1, 10, 100, 1000)
FLOOR, ONE_BY_ONE, INDEX = "one condition alone", "one by one", "index"


def make_ticks(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    symbols = pa.array([f"S{i}" for i in range(SYMBOLS)])
    return pa.table(
        {
            "sym": symbols.take(pa.array(random.integers(0, SYMBOLS, count))),
            "price": random.random(count) * 100,
        }
    )


def make_condition(number: int) -> Expr:
    sym = Comparison(t.BOOLEAN, "=", ColumnRef(t.STRING, "sym"), Constant(t.STRING, f"S{number % SYMBOLS}"))
    price = Comparison(t.BOOLEAN, ">", ColumnRef(t.DOUBLE, "price"), Constant(t.DOUBLE, number % 97 + 0.5))
    return And(t.BOOLEAN, (sym, price))


def main() -> None:
    ticks = make_ticks(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    evaluator = Evaluator()
    for count in STATEMENTS:
        conditions = [make_condition(i) for i in range(count)]
        index = PredicateIndex(conditions)
        best = minima(
            {
                FLOOR: lambda one=conditions[0]: np.flatnonzero(evaluator.mask(one, ticks)),
                ONE_BY_ONE: lambda all_=conditions: [np.flatnonzero(evaluator.mask(c, ticks)) for c in all_],
                INDEX: lambda index=index: index.matches(ticks),
            }
        )
        report(f"{count:,} statements over {ticks.num_rows:,} rows", best, FLOOR)
        print(f"  index / one by one: {best[INDEX] / best[ONE_BY_ONE]:.3f} ({best[INDEX] * 1e3:.2f} ms a batch)")


if __name__ == "__main__":
    main()
