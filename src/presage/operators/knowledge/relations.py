"""The relations of an engine as one mapping; apart from the answers, whose graph most engines do not load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.model.semantics import Knowledge
from presage.plan.answer_relations import COMPUTED

if TYPE_CHECKING:
    from presage.operators.knowledge.library import Library


class Relations(Mapping[str, pa.Table]):
    """Relations by name: declared ones, and the answers to PATHs."""

    def __init__(self, relations: Mapping[str, pa.Table], library: Library, bases: Iterable[Knowledge]) -> None:
        self._relations = relations
        self._library = library
        self._bases = tuple(bases)

    def __getitem__(self, name: str) -> pa.Table:
        if name.startswith(COMPUTED) and name in self._library.tables:
            return self._library.rows(name, self._bases)
        if name in self._library.probes:
            return self._library.answered(name, self._bases)  # computed as keys occur, see `Answers`
        if name in self._library.readings:
            return self._library.known(name, self._bases)
        return self._relations[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._relations, *self._library.tables, *self._library.probes])

    def __len__(self) -> int:
        return len(self._relations) + len(self._library.tables) + len(self._library.probes)
