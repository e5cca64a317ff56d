"""The columns of MEASURES for the output rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import with_nulls
from presage.arrays.jit import Ints
from presage.arrays.programs.code import FLOAT
from presage.arrays.programs.encoding import Encoded
from presage.arrays.programs.vectors import evaluate_all
from presage.errors import error
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.measures.arguments import Argument, Columns, argument_of
from presage.operators.match.kernel.measures.folds import Stretches, fold_values
from presage.operators.match.kernel.measures.places import MatchedRows, Views
from presage.operators.match.kernel.spec import Fold, MatchSpec, Measure


def gather(spec: MatchSpec, rows: pa.Table, matches: Matches, encoded: Encoded) -> dict[str, pa.Array]:
    """The columns by name, each with one value for each output row.

    An unmatched row has nulls alone; an empty match has its number, and counts that are 0.
    """
    gathering = _Gathering(spec, rows, matches, encoded)
    return {measure.output: gathering.column(measure) for measure in spec.measures}


class _Gathering:
    def __init__(self, spec: MatchSpec, rows: pa.Table, matches: Matches, encoded: Encoded) -> None:
        self._spec = spec
        self._matches = matches
        self._encoded = encoded
        self._columns = Columns(rows)
        self._matched = MatchedRows(matches, len(spec.automaton.variables))
        self._views = Views(matches.out_match, matches.out_row, matches.out_at)

    def column(self, measure: Measure) -> pa.Array:
        if measure.match_number:
            numbers = np.append(self._matches.numbers, 0)[self._views.match]
            return with_nulls(numbers, numbers > 0)
        if measure.fold is not None:
            return self._fold(measure.fold)
        if measure.place is None:
            raise error("INTERNAL", what=f"the measure {measure.output} has no value")
        if measure.column is None:
            labels = self._matched.labels_at(measure.place, self._views)
            return pa.array(self._spec.automaton.variables, pa.string()).take(with_nulls(labels, labels >= 0))
        rows = self._matched.rows_at(measure.place, self._views)
        return self._columns.column(measure.column).take(with_nulls(rows, rows >= 0))

    def _fold(self, fold: Fold) -> pa.Array:
        begin, end = self._matched.stretch(fold.labels, self._views, fold.final)
        if fold.program < 0 and not fold.columns:
            result = pa.array(end - begin)  # count(*) needs no rows
        else:
            line = self._matched.chosen(fold.labels).line
            all_views = self._matched.views
            views = Views(all_views.match[line], all_views.row[line], all_views.at[line])
            if fold.program >= 0:
                values = self._computed(fold, views)
            else:
                values = self._argument(fold, fold.columns, line, views.row)
            by = self._argument(fold, fold.by, line, views.row) if fold.by else None
            result = fold_values(fold, values, by, Stretches(views.match, begin, end))
        # An unmatched row has no value, where one over no rows may be 0.
        unmatched = self._views.match < 0
        return pc.if_else(pa.array(unmatched), None, result) if unmatched.any() else result

    def _computed(self, fold: Fold, views: Views) -> Argument:
        places = [self._matched.rows_at(place, views) for place in fold.places]
        # The rows also set the number of values if the program reads none of them.
        places = places or [views.row]
        values, valid = evaluate_all(self._spec.code, fold.program, places, self._encoded, [])
        kind = pa.float64() if fold.bank == FLOAT else pa.int64()
        return Argument(with_nulls(values, valid).cast(kind), np.arange(views.row.size))

    def _argument(self, fold: Fold, names: tuple[str, ...], line: Ints, rows: Ints) -> Argument:
        which = np.zeros(line.size, np.int64)
        if len(names) > 1:
            variables = len(self._spec.automaton.variables)
            nth = np.zeros(variables, np.int64)
            labels = np.arange(variables) if fold.labels is None else np.array(fold.labels)
            nth[labels] = np.arange(labels.size)
            which = nth[self._matched.labels(line)]
        return argument_of(self._columns, names, which, rows)
