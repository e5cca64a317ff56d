"""Why-not of an EPL pattern: what an event could have become in each open partial match.

The kernel steps through the events before: the filters that wait then are those that the event met. Partial matches
that a guard had ended shortly before are reported as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.columnar import reasons as r
from presage.columnar.processing_order import sorted_table
from presage.execution.stage import KEY as KEYS
from presage.execution.steps import StepContext, padded_order, prepared_columns, run, united
from presage.model.operator_state import State
from presage.model.time import format_timestamp
from presage.operators.epl.compile import pattern_kernel
from presage.operators.epl.kernel.spec import SOURCE, Argument
from presage.operators.epl.nodes import PatternMatch
from presage.operators.epl.tracing import showing
from presage.operators.epl.waiting_filters import Waiting, is_over, terms_in, waiting_at_start, waiting_in
from presage.operators.trace_columns import bound_in
from presage.plan.expr import Expr, conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Scan, order_columns
from presage.plan.row_terms import RowValue

# How many events before the examined one are stepped one by one, to notice guards that end among them.
STEPS = 200
MOST_CHANCES, MOST_NOTES, MOST_OTHERS, MOST_TERMS = 100, 5, 5, 5_000


def why_pattern(node: PatternMatch, plan: Node, context: StepContext, number: int, examiner: r.Examiner) -> r.Reasons:
    """What happened to an event, by its number. `context` reads all input of the statement."""
    return _EventReasons(node, context, number, examiner).reasons()


class _EventReasons:
    def __init__(self, node: PatternMatch, context: StepContext, number: int, examiner: r.Examiner) -> None:
        # Rule drop_idle_events has dropped events that pass no filter; why-not examines them too.
        sources = tuple(s.input if node.filtered and isinstance(s, Filter) else s for s in node.sources)
        # The events of a match are identified by their arrival numbers.
        self.node, _ = showing(replace(node, sources=sources), SEQ)
        self.number, self.examiner, self.watermark = number, examiner, context.watermark
        self.raw = [run(source, context).table for source in sources]
        parts = [self._part(i, table, context) for i, table in enumerate(self.raw)]
        self.table = sorted_table(united(parts), (TIME, SEQ, *order_columns(node.depth - 1), SOURCE))
        self.kernel = pattern_kernel(self.node, context.relations)

    def _part(self, number: int, table: pa.Table, context: StepContext) -> pa.Table:
        node, depth = self.node, self.node.depth - 1
        prepared = prepared_columns(node.prepared[number], table, context)
        columns: dict[str, Any] = {TIME: table[TIME], SEQ: table[SEQ]}
        columns |= dict(zip(order_columns(depth), padded_order(table, node.sources[number], depth), strict=True))
        columns[SOURCE] = pa.array(np.full(table.num_rows, number, np.int8))
        if any(node.partition):
            columns |= {f"{KEYS}{i}": prepared[name] for i, name in enumerate(node.partition[number])}
        return pa.table({**columns, **prepared})

    def reasons(self) -> r.Reasons:
        what, tables = self.node.tables.text, self.node.tables
        own = self.table.filter(pa.array(ints(self.table, SEQ) == self.number))
        if not own.num_rows:
            return r.Reasons(what, notes=("It is not an event of this pattern.",))
        keys = self.kernel.spec.keys
        table = r.of_key(self.table, keys, [own[name][0].as_py() for name in keys])
        known, met, ended = self._met(table, int(own[TIME][0].as_py()))
        notes = self._notes(met, own)
        chances: list[r.Chance] = []
        if not is_over(met):
            waiting = waiting_in(met, tables) if terms_in(met) else waiting_at_start(tables)
            chances = [c for w in waiting for c in self._chance(w, own)]
            still = {w.same for w in waiting}
            late = [c for w in ended if w.same not in still for c in self._chance(w, own)]
            chances += [chance for chance in late if chance.outcome != r.FAILS]
        chances += self._of_others(own, notes) if keys else []
        if any(chance.outcome == r.TAKEN for chance in chances):
            notes += self._fate(table, met)
        if len(chances) > MOST_CHANCES:
            notes.append(f"{len(chances) - MOST_CHANCES} more partial matches are not shown.")
        if known is not None and any(term.kind == "within" for term in tables.nodes):
            notes.append(f"Partial matches that timer:within ended before {format_timestamp(known)} are not shown.")
        return r.Reasons(what, tuple(chances[:MOST_CHANCES]), tuple(notes))

    def _notes(self, state: State, own: pa.Table) -> list[str]:
        tables, notes = self.node.tables, []
        if is_over(state):
            keys = [str(own[name][0].as_py()) for name in self.kernel.spec.keys]
            of_key = f" of {', '.join(keys)}" if keys else ""
            notes.append(f"The pattern{of_key} had ended before: without EVERY it ends with its first match.")
        if any(term.consume for term in tables.nodes):
            notes.append("@consume gives it only to the filters of the highest level that it passes.")
        if tables.suppress or tables.discard:
            word = "@SuppressOverlappingMatches" if tables.suppress else "@DiscardPartialsOnMatch"
            notes.append(f"{word} may drop a match; why-not does not examine that.")
        return notes

    # -- the state that it met, and the outcome -------------------------------------------------------------------

    def _met(self, table: pa.Table, time: int) -> tuple[int | None, State, list[Waiting]]:
        """Since when ended guards are known (None: since the start), the state that the event met, and the filters
        that guards had ended by then."""
        numbers = ints(table, SEQ)
        first = int(np.flatnonzero(numbers == self.number)[0])
        begin = max(0, first - STEPS)
        # Rows of one event stay together.
        while 0 < begin < first and numbers[begin] == numbers[begin - 1]:
            begin += 1
        state, known = self.kernel.initial(), None
        if begin:
            known = int(table[TIME][begin - 1].as_py())
            state, _ = self.kernel.step(state, table.slice(0, begin), known)
        ended: dict[Any, Waiting] = {}
        while begin < first:
            end = begin + 1
            while end < first and numbers[end] == numbers[begin]:
                end += 1
            now = int(table[TIME][begin].as_py())
            ended |= self._ended(state, now)
            state, _ = self.kernel.step(state, table.slice(begin, end - begin), now)
            begin = end
        ended |= self._ended(state, time)
        # Timers that are due at the event's time ring before it.
        state, _ = self.kernel.step(state, table.slice(0, 0), time)
        return known, state, list(ended.values())

    def _ended(self, state: State, now: int) -> dict[Any, Waiting]:
        waiting = waiting_in(state, self.node.tables)
        return {w.same: w for w in waiting if w.bound and w.due is not None and w.due <= now}

    def _fate(self, table: pa.Table, met: State) -> list[str]:
        """The outcome of the matches that took it."""
        first = int(np.flatnonzero(ints(table, SEQ) == self.number)[0])
        state, made = self.kernel.step(met, table.slice(first), self.watermark)
        notes = []
        whole = [row for row in made.to_pylist() if self.number in (number for _, number in bound_in(row))]
        for row in whole[:MOST_NOTES]:
            name = next(name for name, number in bound_in(row) if number == self.number)
            others = [f"{other} {self._moment(n)}" for other, n in bound_in(row) if n != self.number]
            rest = f", with {', '.join(others)}" if others else ""
            notes.append(f"It is {name} of a match that was complete at {format_timestamp(row[TIME])}{rest}.")
        if len(whole) > MOST_NOTES:
            notes.append(f"It is in {len(whole) - MOST_NOTES} more matches.")
        waiting = [w for w in waiting_in(state, self.node.tables) if w.has(self.number)]
        for w in waiting[:MOST_NOTES]:
            until = "" if w.due is None else f" until {format_timestamp(w.due)}"
            text = self.node.tables.nodes[w.term].text
            state_of = f"continues as long as no {text} comes" if self._denied(w.term) else f"waits for {text}"
            notes.append(f"A match with it {state_of}{until}.")
        if not whole and not waiting:
            notes.append("No match with it became complete, and no filter waits with it any more.")
        return notes

    def _of_others(self, own: pa.Table, notes: list[str]) -> list[r.Chance]:
        """The newest partial matches of other keys: equal keys are a condition of the pattern, too."""
        first = int(np.flatnonzero(ints(self.table, SEQ) == self.number)[0])
        time = int(own[TIME][0].as_py())
        state, _ = self.kernel.step(self.kernel.initial(), self.table.slice(0, first), time)
        if terms_in(state) > MOST_TERMS:
            notes.append("There are very many partial matches of other keys; they are not examined.")
            return []
        waiting = [w for w in waiting_in(state, self.node.tables) if w.bound and self._is_other(w, own)]
        waiting.sort(key=lambda w: w.bound[-1][1], reverse=True)
        failed = [c for w in waiting for c in self._chance(w, own) if c.outcome == r.FAILS]
        if len(failed) > MOST_OTHERS:
            notes.append(f"{len(failed)} partial matches of other keys waited; the newest {MOST_OTHERS} are shown.")
        return failed[:MOST_OTHERS]

    def _is_other(self, waiting: Waiting, own: pa.Table) -> bool:
        """Whether a partial match is of another key than the event."""
        tag, number = waiting.bound[-1]
        there = self.table.filter(pa.array(ints(self.table, SEQ) == number))
        there = there.filter(pa.array(ints(there, SOURCE) == self.node.tables.tags[tag].source))
        return any(there[k][0].as_py() != own[k][0].as_py() for k in self.kernel.spec.keys)

    # -- one chance -----------------------------------------------------------------------------------------

    def _chance(self, waiting: Waiting, own: pa.Table) -> list[r.Chance]:
        """Empty if it waits for events of another type."""
        term = self.node.tables.nodes[waiting.term]
        views = np.flatnonzero(ints(own, SOURCE) == term.source)
        if not len(views):
            return []
        raw, view = self.raw[term.source], int(views[0])
        place = int(np.flatnonzero(ints(raw, SEQ) == self.number)[0])
        flags = {named.name: named.expr for named in self.node.prepared[term.source]}

        def value_of(x: Expr) -> pa.Array | None:
            if not isinstance(x, RowValue):
                return None
            return self._value(term.arguments[x.place], x.column, waiting, own, view)

        answers = self.examiner.answers(flags[term.flag], r.row_values(raw, place)) if term.flag else []
        program = term.program if term.program >= 0 else term.asked
        answers += self.examiner.answers(self.node.programs[program], value_of) if program >= 0 else []
        answers = r.merged(answers)
        outcome, further = r.outcome_of(answers), ""
        if waiting.due is not None and waiting.due <= int(own[TIME][0].as_py()):
            further = f"timer:within ended it at {format_timestamp(waiting.due)}"
            outcome = r.OVER if outcome == r.TAKEN else outcome
        elif self._denied(waiting.term):
            outcome = r.DENIES if outcome == r.TAKEN else outcome
            further = "" if outcome == r.DENIES else "it is under NOT: such an event would have ended the match"
        return [r.Chance(term.text, tuple(self._bound(waiting)), tuple(answers), outcome, further)]

    def _value(self, argument: Argument, column: str, waiting: Waiting, own: pa.Table, view: int) -> pa.Array:
        if argument.tag is None:
            return own[column].slice(view, 1).combine_chunks()
        rows = [row for (tag, _), row in zip(waiting.bound, waiting.rows, strict=True) if tag == argument.tag]
        index = -1 if argument.index is None else argument.index
        if waiting.state is None or not -len(rows) <= index < len(rows):
            return pa.nulls(1, own.schema.field(column).type)
        return waiting.state.tables["rows"][column].slice(rows[index], 1).combine_chunks()

    def _bound(self, waiting: Waiting) -> list[r.Bound]:
        found = []
        for tag, number in waiting.bound:
            listed = self.node.tables.tags[tag]
            raw = self.raw[listed.source]
            place = int(np.flatnonzero(ints(raw, SEQ) == number)[0])
            found.append(r.Bound(listed.name, int(raw[TIME][place].as_py()), r.shown_row(raw, place)))
        return found

    def _moment(self, number: int) -> str:
        """The time of an event."""
        table = self.table.filter(pa.array(ints(self.table, SEQ) == number))
        return format_timestamp(int(table[TIME][0].as_py()))

    def _denied(self, number: int) -> bool:
        """Whether a term is under a NOT."""
        nodes = self.node.tables.nodes
        above = next((i for i, term in enumerate(nodes) if number in term.children), None)
        return above is not None and (nodes[above].kind == "not" or self._denied(above))


def scan_conditions(node: PatternMatch) -> Iterator[r.ScanConditions]:
    """The conditions of a pattern's filters over their own event."""
    for term in node.tables.nodes:
        if term.kind != "filter":
            continue
        source = node.sources[term.source]
        if isinstance(source, Filter):
            # The filter of rule drop_idle_events: it only drops events that pass no filter.
            source = source.input
        if isinstance(source, Scan):
            flags = {named.name: named.expr for named in node.prepared[term.source]}
            own = conjuncts(flags.get(term.flag)) if term.flag else []
            yield r.ScanConditions(source, tuple(own), term.text)


CONDITIONS = {PatternMatch: scan_conditions}
WHY_NOT = {PatternMatch: why_pattern}
