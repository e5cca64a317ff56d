"""The stored state of a sequence at the beginning of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from presage.arrays.columns import column

# Columns of a line: key and value of the group's Markov chain, by number; null where there is none.
CHAIN_KEY, CHAIN_VALUE = "#key", "#value"


@dataclass
class Carried:
    """Lines of beliefs, and the values seen of other variables."""

    lines: pa.Table | None
    seen: dict[str, pa.Array] = field(default_factory=dict)

    def values_of(self, name: str, kind: pa.DataType) -> pa.Array:
        """Values of a variable that need numbers: of all lines, then those seen."""
        found = (
            [] if self.lines is None or name not in self.lines.column_names else [column(self.lines, name).cast(kind)]
        )
        if name in self.seen:
            found.append(self.seen[name].cast(kind))
        return pa.concat_arrays(found) if found else pa.array([], kind)
