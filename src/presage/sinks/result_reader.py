"""A place in, the rows of its statement from there on out, so many at a time. Reading goes on where it was."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from presage.errors import error
from presage.sinks.position import Place
from presage.sinks.sink import Batch, Statements


class Reader:
    """Holds what is left of one piece of the results, until it is told to let go."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.let_go()

    def let_go(self) -> None:
        """Keep nothing in memory: whoever waits for a server holds no rows."""
        self._pieces: Iterator[tuple[int, int, pa.Table]] = iter(())
        self._at: tuple[int, int] | None = None  # statement and row that the pieces go on with
        self._piece: tuple[int, pa.Table] | None = None  # record, and rows from that row on

    def read(self, name: str, place: Place, end: int) -> tuple[Batch, int]:
        """Rows up to `end`, and the record that holds the last of them."""
        if self._at != (place.number, place.row):
            self._begin(place)
        rows, record = self._take(end - place.row)
        if rows.num_rows < end - place.row:
            # What was listed then ends here: more has been published since.
            self._begin(place)
            rows, record = self._take(end - place.row)
        if rows.num_rows < end - place.row:
            self.let_go()
            what, why = f"row {place.row + rows.num_rows} of statement '{name}'", "it is not in the results"
            fix = "restore the results folder from a copy of the home"
            raise error("HOME_CORRUPT", what=what, path="results", why=why, fix=fix)
        self._at = (place.number, end)
        return Batch(name, place.number, place.row, rows), record

    def _begin(self, place: Place) -> None:
        self.let_go()
        self._pieces = self._statements.rows(place.number, place.record, place.row)
        self._at = (place.number, place.row)

    def _take(self, count: int) -> tuple[pa.Table, int]:
        parts: list[pa.Table] = []
        record, missing = 0, count
        while missing:
            if self._piece is None:
                found = next(self._pieces, None)
                if found is None:
                    break
                self._piece = (found[0], found[2])
            record, rows = self._piece
            parts.append(rows.slice(0, missing))
            missing -= parts[-1].num_rows
            self._piece = (record, rows.slice(parts[-1].num_rows)) if parts[-1].num_rows < rows.num_rows else None
        return (pa.concat_tables(parts) if parts else pa.table({})), record
