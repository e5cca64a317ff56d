"""Tables of a sequence kernel: the meaning of the columns of its rows. Plain values, shipped to the workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.plans import SafePlan

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

TIME, SEQ, SOURCE = "_t", "_seq", "_src"


def worlds_needed(error: float, confidence: float) -> int:
    """The number of random worlds for this error and confidence (Hoeffding)."""
    return max(math.ceil(math.log(2.0 / (1.0 - confidence)) / (2.0 * error * error)), 1)


@dataclass(frozen=True)
class StreamColumns:
    """Of one source: `key` distinguishes its chains; `values` are the uncertain attributes, `previous` those at the
    step before (MARKOV); `probability` None: certain events."""

    kind: int
    key: tuple[str, ...]
    values: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    probability: str | None = None


@dataclass(frozen=True)
class GoalColumns:
    """Of one goal, over the rows of its source: boolean columns as in `facts.GoalRows` (None: always true), and the
    column of each variable."""

    candidate: str | None = None
    accepted: str | None = None
    reads: str | None = None
    variables: tuple[tuple[str, str], ...] = ()


class KeyHashes(Protocol):
    """Hashes of keys, 64 bits each, from the columns and the number of keys."""

    def __call__(self, columns: list[pa.ChunkedArray], rows: int) -> np.ndarray: ...


class Oracle(Protocol):
    """Evaluates conditions over variables of several goals on columns of values; null is false."""

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray: ...


@dataclass(frozen=True)
class SequenceTables:
    """`conditions`: the variables of each condition, in the order of the oracle's arguments. `given`: selected
    variables and those that divide the sequence; `stepwise`: its class is regular or extended regular. `method` and
    `plan`: how it is computed (see `classify`); `by`: mle or map, if only the most likely world counts. `error` and
    `confidence` are those of sampling."""

    query: Sequence
    streams: tuple[StreamColumns, ...]
    goals: tuple[GoalColumns, ...]
    conditions: tuple[tuple[str, ...], ...] = ()
    given: tuple[str, ...] = ()
    stepwise: bool = False
    method: str = "regular"
    plan: SafePlan | None = None
    by: str | None = None
    error: float = 0.05
    confidence: float = 0.95

    @property
    def by_steps(self) -> bool:
        """Whether it is computed step by step, over all worlds."""
        return self.method == "regular" and self.by is None

    @property
    def counted(self) -> frozenset[str]:
        """Variables whose values matter outside their own subgoal."""
        return frozenset(self.given).union(*self.conditions)
