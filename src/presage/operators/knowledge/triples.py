"""A graph as numbers: for each predicate the sorted pairs of subject and object, and the joins that rules use.

A set of pairs is a sorted array of uint64 without repetition: the subject in the upper half, the object in the lower.
Sorting and searching then work on plain numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from presage.errors import PresageError, error
from presage.operators.knowledge.owl_terms import TYPE

LARGEST = 100_000_000  # triples, intermediate ones included: about 2 GB

Pairs = npt.NDArray[np.uint64]
Terms = npt.NDArray[np.uint64]  # numbers of terms, below 2^32

_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFF_FFFF)
EMPTY: Pairs = np.empty(0, np.uint64)
# New pairs by predicate.
Found = defaultdict[int, list[Pairs]]


def pack(subjects: npt.ArrayLike, objects: npt.ArrayLike) -> Pairs:
    """The pairs of two arrays, or of an array and one number, in their order."""
    upper = np.asarray(subjects, np.uint64) << _HALF
    return np.atleast_1d(upper | np.asarray(objects, np.uint64))


def subjects_of(pairs: Pairs) -> Terms:
    return pairs >> _HALF


def objects_of(pairs: Pairs) -> Terms:
    return pairs & _LOWER


def swap(pairs: Pairs) -> Pairs:
    """Each pair reversed; not sorted."""
    return (pairs << _HALF) | (pairs >> _HALF)


def distinct(pairs: Sequence[Pairs]) -> Pairs:
    """The union, sorted."""
    joined = pairs[0] if len(pairs) == 1 else np.concatenate(pairs)
    if len(joined) < 2:
        return joined
    joined = np.sort(joined)
    keep = np.empty(len(joined), np.bool_)
    keep[0] = True
    np.not_equal(joined[1:], joined[:-1], out=keep[1:])
    return joined[keep]


def is_in(pairs: Pairs, sorted_pairs: Pairs) -> npt.NDArray[np.bool_]:
    """A mask of the numbers that the sorted array holds."""
    if not len(sorted_pairs):
        return np.zeros(len(pairs), np.bool_)
    place = np.minimum(np.searchsorted(sorted_pairs, pairs), len(sorted_pairs) - 1)
    return np.equal(sorted_pairs[place], pairs)


def with_subject(pairs: Pairs, subject: int) -> Pairs:
    """The pairs of one subject."""
    start, stop = np.searchsorted(pairs, np.array([subject, subject + 1], np.uint64) << _HALF)
    return pairs[start:stop]


def join_size(left: Pairs, right: Pairs) -> int:
    starts, stops = _matches(left, right)
    return int((stops - starts).sum())


def join(left: Pairs, right: Pairs) -> Pairs:
    """The pairs (x, z) for which (x, y) is in `left` and (y, z) in the sorted `right`; with repetitions, not sorted."""
    if not len(left) or not len(right):
        return EMPTY
    starts, stops = _matches(left, right)
    counts = stops - starts
    total = int(counts.sum())
    # The positions in `right`: one run of consecutive positions for each pair of `left`.
    ends = np.cumsum(counts)
    places = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return pack(np.repeat(subjects_of(left), counts), objects_of(right[places]))


def _matches(left: Pairs, right: Pairs) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    wanted = left << _HALF
    return np.searchsorted(right, wanted), np.searchsorted(right, wanted | _LOWER, side="right")


def siblings(pairs: Pairs) -> Pairs:
    """Of the sorted pairs: the first object of each subject, with each further object of the same subject."""
    if len(pairs) < 2:
        return EMPTY
    subjects = subjects_of(pairs)
    new = np.empty(len(pairs), np.bool_)
    new[0] = True
    np.not_equal(subjects[1:], subjects[:-1], out=new[1:])
    first = np.maximum.accumulate(np.where(new, np.arange(len(pairs)), 0))
    further = ~new
    objects = objects_of(pairs)
    return pack(objects[first[further]], objects[further])


class Tables:
    """The triples of a graph: the pairs of each predicate."""

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
        """The members of a class, in order."""
        if self._by_class is None:
            self._by_class = np.sort(swap(self[TYPE]))
        return objects_of(with_subject(self._by_class, kind))

    def add(self, found: Found) -> Tables:
        """Add pairs; returns those that are new."""
        new = {}
        for predicate, pairs in found.items():
            fresh = distinct(pairs)
            fresh = fresh[~is_in(fresh, self[predicate])]
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


def expressible(tables: Tables, is_literal: npt.NDArray[np.bool_], is_iri: npt.NDArray[np.bool_]) -> Tables:
    """The triples that RDF allows: no literal as a subject, no predicate but an IRI."""
    kept = {}
    for predicate, pairs in tables.pairs.items():
        if is_iri[predicate]:
            pairs = pairs[~is_literal[subjects_of(pairs).astype(np.intp)]]
            if len(pairs):
                kept[predicate] = pairs
    return Tables(kept)
