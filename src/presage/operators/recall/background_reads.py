"""Background reads of history: a thread reads the archive while batches go on.

An answer depends only on the events that arrived before the event, and not on when it is read. So a thread runs the
progress of a copy, and records what the archive answers. The step that takes the answers repeats the progress with
them, on the same questions.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Bools
from presage.errors import error
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.left_join import Ask
from presage.operators.recall.nodes import Recalled
from presage.operators.recall.progress import History, Progress
from presage.operators.recall.questions import Questions
from presage.operators.recall.scheduling import TaskSet
from presage.plan.nodes import SEQ

# Runs work in a thread.
Later = Callable[[Callable[[], list[Any]]], "Future[list[Any]]"]


class BackgroundRead(NamedTuple):
    """A read: its key, its result, the tasks that it is for, and the history as it was at its start."""

    key: tuple[Any, ...]
    answers: Future[list[Any]]
    tasks: tuple[int, ...] = ()
    history: History | None = None


@dataclass
class BackgroundReads:
    """The current read of one statement, in memory only. Its key shows whether a step that was never committed has
    started it."""

    reading: BackgroundRead | None = None

    def is_awaited(self) -> bool:
        return self.reading is not None and not self.reading.answers.done()

    def tasks(self) -> tuple[int, ...]:
        return self.reading.tasks if self.reading is not None else ()

    def result(self, key: tuple[Any, ...], work: Callable[[], list[Any]], later: Later | None) -> list[Any] | None:
        """The result of work with that key; None if `later` has started it. Without `later` it runs at once."""
        if later is not None and self.is_awaited():
            return None  # one read at a time
        reading, self.reading = self.reading, None
        if reading is not None and reading.key == key:
            return reading.answers.result()
        if later is None:
            return work()
        self.reading = BackgroundRead(key, later(work))
        return None

    def history(
        self, progress: Progress, chosen: TaskSet, chunk: Chunk, last: bool, mask: Bools, later: Later | None
    ) -> History | None:
        """History with the answers; None if `later` has started to read them. Without `later` they are read at once."""
        reading, key = self.reading, _key(progress, chosen, chunk, last, mask)
        self.reading = None  # after a failure, too: then it is read again
        if reading is not None and reading.history is not None and reading.key == key:
            recorded = _recorded(reading.answers.result())
            return replace(reading.history, ask=recorded, present=progress.history.present)
        if later is None:
            return progress.history
        answers: list[pa.Table] = []
        ask = progress.history.ask

        def record(*question: Any) -> pa.Table:
            answers.append(ask(*question))
            return answers[-1]

        recording = replace(progress.history, ask=record)
        copy = Progress(progress.node, progress.tables()["events"], progress.evaluator, recording)
        copy.restore(progress.tables())

        def read() -> list[pa.Table]:
            copy.read(chunk, last, mask)
            return answers

        tasks = tuple(task.number for task in chosen.tasks)
        self.reading = BackgroundRead(key, later(read), tasks, progress.history)
        return None


def _key(progress: Progress, chosen: TaskSet, chunk: Chunk, last: bool, mask: Bools) -> tuple[Any, ...]:
    arrived, covered = (np.asarray(column)[mask].tolist() for column in (progress.events[SEQ], progress.covered))
    return chosen.plan, chosen.unit, chunk, last, tuple(arrived), tuple(covered)


def _recorded(answers: list[pa.Table]) -> Ask:
    """Answers to the same questions in the same order."""
    remaining = iter(answers)

    def answer(recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        recorded = next(remaining, None)
        if recorded is None:
            raise error("INTERNAL", what=f"history was not read for RECALL '{recall.alias}' before")
        return recorded

    return answer
