"""Producers: statements that fill derived streams. Orders them before their readers, and computes the watermarks of
derived streams for the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.batch import Batch
from presage.live.derived import derived_table, is_derived_table
from presage.live.program import Program
from presage.live.statement import Statement


@dataclass(frozen=True)
class Producers:
    """`output_watermark`: up to when a statement whose rows lag has emitted all of them."""

    _programs: Mapping[str, Program]  # by statement
    _output_watermark: Callable[[Statement], int]

    def by_table(self, statements: Iterable[Statement]) -> dict[str, list[Statement]]:
        """By table of a derived stream: its producers whose rows are in the order of time."""
        producers: dict[str, list[Statement]] = {}
        for statement in statements:
            program = self._programs[statement.number]
            if program.into is not None and not program.retimed:
                producers.setdefault(derived_table(program.into.name), []).append(statement)
        return producers

    def before_readers(self, running: list[Statement]) -> list[Statement]:
        """The statements in topological order: each after its producers."""
        if not any(self._programs[s.number].reads_others for s in running):
            return running
        producers = self.by_table(running)
        ordered: dict[str, Statement] = {}

        def visit(statement: Statement) -> None:
            for table in sorted(filter(is_derived_table, self._programs[statement.number].streams)):
                for producer in producers.get(table, ()):
                    visit(producer)
            ordered.setdefault(statement.number, statement)

        for statement in running:
            visit(statement)
        return list(ordered.values())

    def feed(self, batch: Batch, statement: Statement) -> bool:
        """Whether a producer in this batch may emit rows at exactly the time that a statement has reached."""
        streams = self._programs[statement.number].streams
        producers = (self._programs[number] for number in batch.ranges)
        return any(p.lags and p.into is not None and derived_table(p.into.name) in streams for p in producers)

    def set_watermarks(self, batch: Batch, deployed: Iterable[Statement], before: Mapping[str, int]) -> None:
        """Set the watermarks of derived streams in a batch: for each the least of its producers.

        A stream without producers follows the slowest stream of the log. `before`: the watermarks that the job has
        reached.
        """
        deployed = list(deployed)
        producers = self.by_table(deployed)
        of_log = (watermark for stream, watermark in batch.watermarks.items() if not is_derived_table(stream))
        slowest = min(of_log, default=NOTHING_KNOWN)
        derived: dict[str, int] = {}

        def watermark(stream: str) -> int:
            if not is_derived_table(stream):
                return batch.watermarks[stream]
            if stream not in derived:
                ends = [output(producer) for producer in producers.get(stream, ())]
                derived[stream] = max(min(ends, default=slowest), before.get(stream, NOTHING_KNOWN))
            return derived[stream]

        def output(producer: Statement) -> int:
            program, reached = self._programs[producer.number], end_of(producer)
            if not program.lags or (program.ends is not None and reached >= program.ends):
                return reached
            return self._output_watermark(producer)  # its rows of this batch are not known yet

        def end_of(producer: Statement) -> int:
            if producer.number in batch.ranges:
                return batch.ranges[producer.number].end.watermark
            if producer.own_position is not None:
                return producer.own_position.watermark
            streams = self._programs[producer.number].streams
            return min((watermark(stream) for stream in streams), default=NOTHING_KNOWN)

        for stream in sorted({s for st in deployed for s in self._programs[st.number].streams if is_derived_table(s)}):
            batch.watermarks[stream] = watermark(stream)
            batch.in_step.clear()
