"""Conditions over the match so far, as arrays for the path searches.

A place is a line of `places`: the set of rows it counts among, from which end, the offset, and the shift by PREV or
NEXT. Equal sets of labels and equal aggregates are stored once, however many conditions use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Bools, Ints
from presage.arrays.programs.code import FLOAT, INT, TEXT, Code
from presage.errors import error
from presage.operators.match.kernel.spec import SEARCHED, Condition, Fold, MatchTables, Place

COUNT, SUM, AVG, MIN, MAX, STDDEV, FIRST, LAST, ANY, MAX_BY, MIN_BY = range(len(SEARCHED))

P_SET, P_FIRST, P_OFFSET, P_MOVED = range(4)  # columns of `places`
ANY_ROW, CURRENT = -1, -2  # P_SET of a place among all rows of the match, and of the current row


class Paths(NamedTuple):
    """By label, unless stated otherwise. The part of label i in x is x_begin[i] to x_begin[i + 1]."""

    bound: Ints  # the program over the match so far, or -1
    asked: Bools
    places: Ints  # (places, 4)
    place_begin: Ints
    given: Ints  # numbers of aggregates, in the order of the program's GIVEN
    given_begin: Ints
    classified_begin: Ints  # places whose label the program gets, after the aggregates
    numbered: Bools  # the program gets the match number, after the labels
    member: Bools  # (sets, labels)
    # By aggregate.
    function: Ints
    among: Ints  # its set
    program: Ints  # computes the argument, or -1
    program_begin: Ints  # its places
    is_float: Bools
    argument: Ints  # (aggregates, labels): a column of its bank, -1 for count(*)
    by_float: Bools
    by: Ints


def looks_at_path(spec: MatchTables) -> bool:
    return any(c.bound >= 0 or c.asked >= 0 for c in spec.conditions)


def all_folds(conditions: Sequence[Condition]) -> tuple[Fold, ...]:
    return tuple(dict.fromkeys(fold for condition in conditions for fold in condition.folds))


def check_folds(spec: MatchTables) -> None:
    for fold in all_folds(spec.conditions):
        if fold.function not in SEARCHED or fold.distinct:
            shown = fold.shown or f"{fold.function}({'DISTINCT ' if fold.distinct else ''}…)"
            raise error("UNSUPPORTED", what=shown, where="in DEFINE", fix="use it in MEASURES")
    if spec.skip.kind == "to_current" and any(c.match_number for c in spec.conditions):
        raise error(
            "UNSUPPORTED",
            what="MATCH_NUMBER() in DEFINE",
            where="with AFTER MATCH SKIP TO CURRENT ROW",
            fix="use another skip clause",
        )


def with_arguments(code: Code, spec: MatchTables, schema: pa.Schema) -> Code:
    """The code with further columns: those that only aggregates in DEFINE read."""
    names = [name for fold in all_folds(spec.conditions) for name in (*fold.columns, *fold.by)]
    present = {name for name, _ in code.columns}
    further = [(name, _bank(name, schema)) for name in dict.fromkeys(names) if name not in present]
    return replace(code, columns=(*code.columns, *further))


def _bank(name: str, schema: pa.Schema) -> int:
    kind = schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind):
        return FLOAT
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return TEXT
    if pa.types.is_nested(kind):
        fix = "take one of its fields"
        raise error("UNSUPPORTED", what=f"an aggregate in DEFINE over '{name}'", where=f"of type {kind}", fix=fix)
    return INT


class PathTables:
    """Builds `Paths`; `code` is the one of `with_arguments`."""

    def __init__(self, spec: MatchTables, code: Code) -> None:
        self._conditions = spec.conditions
        self._labels = max(len(spec.automaton.variables), 1)
        self._folds = all_folds(spec.conditions)
        self._sets: dict[tuple[int, ...], int] = {}
        self._places: list[tuple[int, int, int, int]] = []
        ints = [name for name, bank in code.columns if bank != FLOAT]
        floats = [name for name, bank in code.columns if bank == FLOAT]
        self._column = {name: (k, False) for k, name in enumerate(ints)} | {
            name: (k, True) for k, name in enumerate(floats)
        }

    def build(self) -> Paths:
        conditions = self._conditions
        place_begin = self._placed([c.places for c in conditions])
        classified_begin = self._placed([c.classified for c in conditions])
        among = [self._set(fold.labels) for fold in self._folds]
        program_begin = self._placed([fold.places for fold in self._folds])
        arguments = [self._arguments(fold.columns) for fold in self._folds]
        is_float = [
            fold.bank == FLOAT if fold.program >= 0 else of_column
            for fold, (of_column, _) in zip(self._folds, arguments, strict=True)
        ]
        by = [self._arguments(fold.by) for fold in self._folds]
        member = np.zeros((len(self._sets), self._labels), np.bool_)
        for labels, number in self._sets.items():
            member[number, list(labels)] = True
        return Paths(
            np.array([c.bound for c in conditions] or [-1], np.int64),
            np.array([c.asked >= 0 for c in conditions] or [False], np.bool_),
            np.array(self._places, np.int64).reshape(-1, 4),
            place_begin,
            np.array([self._folds.index(fold) for c in conditions for fold in c.folds], np.int64),
            np.cumsum([0, *(len(c.folds) for c in conditions)], dtype=np.int64),
            classified_begin,
            np.array([c.match_number for c in conditions] or [False], np.bool_),
            member,
            np.array([SEARCHED.index(fold.function) for fold in self._folds], np.int64),
            np.array(among, np.int64),
            np.array([fold.program for fold in self._folds], np.int64),
            program_begin,
            np.array(is_float, np.bool_),
            np.array([columns for _, columns in arguments], np.int64).reshape(-1, self._labels),
            np.array([of_column for of_column, _ in by], np.bool_),
            np.array([columns for _, columns in by], np.int64).reshape(-1, self._labels),
        )

    def _set(self, labels: tuple[int, ...] | None) -> int:
        members = tuple(range(self._labels)) if labels is None else tuple(sorted(set(labels)))
        return self._sets.setdefault(members, len(self._sets))

    def _placed(self, groups: Sequence[Sequence[Place]]) -> Ints:
        bounds = [len(self._places)]
        for places in groups:
            for place in places:
                among = CURRENT if place.current else ANY_ROW if place.labels is None else self._set(place.labels)
                self._places.append((among, int(place.first), place.offset, place.moved))
            bounds.append(len(self._places))
        return np.array(bounds, np.int64)

    def _arguments(self, names: tuple[str, ...]) -> tuple[bool, list[int]]:
        if not names:
            return False, [-1] * self._labels
        columns = [self._column[name] for name in (names if len(names) > 1 else names * self._labels)]
        if len({is_float for _, is_float in columns}) > 1:
            raise error("INTERNAL", what="an aggregate in DEFINE has arguments of two banks")
        return columns[0][1], [number for number, _ in columns]
