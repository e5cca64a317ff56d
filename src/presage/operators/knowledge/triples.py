"""A graph as numbers: for each predicate the sorted pairs of subject and object, which rules join and grow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from presage.errors import PresageError, error
from presage.operators.knowledge.owl_terms import TYPE
from presage.operators.knowledge.pairs import (
    EMPTY,
    Pairs,
    Terms,
    distinct,
    objects_of,
    pack,
    subjects_of,
    swap,
    with_subject,
    without,
)

LARGEST = 100_000_000  # triples, on the way too: about 2 GB

Found = defaultdict[int, list[Pairs]]


class Tables:
    """The triples of a graph: for each predicate, its pairs of subject and object."""

    def __init__(self, pairs: Mapping[int, Pairs]) -> None:
        self.pairs = dict(pairs)
        self._by_class: Pairs | None = None

    @classmethod
    def of(cls, subjects: Terms, predicates: Terms, objects: Terms) -> Tables:
        order = np.argsort(predicates, kind="stable")
        names, starts = np.unique(predicates[order], return_index=True)
        packed = pack(subjects, objects)[order] if len(order) else EMPTY
        parts = np.split(packed, starts[1:]) if len(names) else []
        return cls({int(name): distinct([part]) for name, part in zip(names, parts, strict=True)})

    def __getitem__(self, predicate: int) -> Pairs:
        return self.pairs.get(predicate, EMPTY)

    def __len__(self) -> int:
        return sum(map(len, self.pairs.values()))

    def members(self, kind: int) -> Terms:
        """What is of a class, in order."""
        if self._by_class is None:
            self._by_class = np.sort(swap(self[TYPE]))
        return objects_of(with_subject(self._by_class, kind))

    def add(self, found: Found) -> Tables:
        """Take in what was found; the part of it that was not known."""
        new = {}
        for predicate, pairs in found.items():
            fresh = without(distinct(pairs), self[predicate])
            if len(fresh):
                new[predicate] = fresh
                self.pairs[predicate] = np.sort(np.concatenate([self[predicate], fresh]), kind="stable")
        if TYPE in new:
            self._by_class = None
        if len(self) > LARGEST:
            raise too_large(len(self))
        return Tables(new)


def too_large(size: int) -> PresageError:
    return error("KNOWLEDGE_TOO_LARGE", size=f"{size:,}", limit=f"{LARGEST:,}")


def sayable(tables: Tables, is_literal: npt.NDArray[np.bool_], is_iri: npt.NDArray[np.bool_]) -> Tables:
    """The triples that RDF can say: no literal as a subject, no predicate but an IRI."""
    kept = {}
    for predicate, pairs in tables.pairs.items():
        if is_iri[predicate]:
            pairs = pairs[~is_literal[subjects_of(pairs).astype(np.intp)]]
            if len(pairs):
                kept[predicate] = pairs
    return Tables(kept)
