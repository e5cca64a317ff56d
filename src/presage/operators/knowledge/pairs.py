"""Joins, unions and differences of sets of pairs of numbers: what the OWL RL rules are made of.

A set of pairs (the subjects and objects of one predicate) is a sorted array of uint64 without repetition: the subject
in the upper half, the object in the lower. Sorting and searching then work on plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.uint64]
Terms = npt.NDArray[np.uint64]  # numbers of terms, below 2^32

_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFF_FFFF)
EMPTY: Pairs = np.empty(0, np.uint64)


def pack(subjects: npt.ArrayLike, objects: npt.ArrayLike) -> Pairs:
    """The pairs of two arrays, or of an array and one number; as they come, not sorted."""
    upper = np.asarray(subjects, np.uint64) << _HALF
    return np.atleast_1d(upper | np.asarray(objects, np.uint64))


def subjects_of(pairs: Pairs) -> Terms:
    return pairs >> _HALF


def objects_of(pairs: Pairs) -> Terms:
    return pairs & _LOWER


def swap(pairs: Pairs) -> Pairs:
    """Each pair turned around; not sorted."""
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


def is_in(pairs: Pairs, known: Pairs) -> npt.NDArray[np.bool_]:
    """Which of the numbers stand in the sorted array `known`."""
    if not len(known):
        return np.zeros(len(pairs), np.bool_)
    place = np.searchsorted(known, pairs)
    found: npt.NDArray[np.bool_] = known[np.minimum(place, len(known) - 1)] == pairs
    return found


def without(pairs: Pairs, known: Pairs) -> Pairs:
    return pairs[~is_in(pairs, known)]


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
    # The places in `right`, match by match: each run starts at its own place and counts on.
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
