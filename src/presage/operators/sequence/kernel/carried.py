"""What the state of a sequence brings into a step: lines of beliefs as they were stored."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from presage.arrays.columns import column

# Columns of a line: key and value of the group's Markov chain, by number; null where there is none.
CHAIN_KEY, CHAIN_VALUE = "#key", "#value"


@dataclass
class Carried:
    """What a state brings: lines of beliefs, and the values of other variables that were seen."""

    lines: pa.Table | None
    seen: dict[str, pa.Array] = field(default_factory=dict)

    def values_of(self, name: str, kind: pa.DataType) -> pa.Array:
        """Values of a variable that must have numbers: of all lines, then those seen."""
        found = (
            [] if self.lines is None or name not in self.lines.column_names else [column(self.lines, name).cast(kind)]
        )
        if name in self.seen:
            found.append(self.seen[name].cast(kind))
        return pa.concat_arrays(found) if found else pa.array([], kind)
