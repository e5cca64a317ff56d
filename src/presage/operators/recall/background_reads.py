"""Background reads of history: a thread asks the archive while batches go on.

An answer does not depend on when it is asked: it is made of what had arrived before the event. So history is read by a
thread, on a copy of what is known of the events, and only what the archive answered is kept. When it is there, the step
that takes it in does all the rest, from the same questions.
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
from presage.operators.recall.nodes import Recalled
from presage.operators.recall.progress import History, Progress
from presage.operators.recall.questions import Questions
from presage.operators.recall.scheduling import TaskSet
from presage.plan.nodes import SEQ

# Lets a thread do work; the future has what it gives.
Later = Callable[[Callable[[], list[Any]]], "Future[list[Any]]"]


class BackgroundRead(NamedTuple):
    """What is being read: by which name, for which tasks, and from history as it was then."""

    key: tuple[Any, ...]
    answers: Future[list[Any]]
    tasks: tuple[int, ...] = ()
    history: History | None = None


@dataclass
class BackgroundReads:
    """What is read for one statement at this time; in memory only. A step that was never published may have begun it:
    the key tells."""

    reading: BackgroundRead | None = None

    def is_awaited(self) -> bool:
        return self.reading is not None and not self.reading.answers.done()

    def tasks(self) -> tuple[int, ...]:
        return self.reading.tasks if self.reading is not None else ()

    def found(self, key: tuple[Any, ...], work: Callable[[], list[Any]], later: Later | None) -> list[Any] | None:
        """What work of that name gives, or `later` does it: then None. Without that it is done at once."""
        if later is not None and self.is_awaited():
            return None  # one at a time, whatever it is
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
        """History that has the answers, or `later` reads them: then None. Without that they are asked for at once."""
        reading, key = self.reading, _key(progress, chosen, chunk, last, mask)
        self.reading = None  # also where it failed: then it is read again
        if reading is not None and reading.history is not None and reading.key == key:
            return replace(
                reading.history, ask=_RecordedAnswers(reading.answers.result()), present=progress.history.present
            )
        if later is None:
            return progress.history
        asking = _RecordingHistory(progress.history)
        copy = Progress(progress.node, progress.tables()["events"], progress.evaluator, asking.history())
        copy.restore(progress.tables())

        def read() -> list[pa.Table]:
            copy.read(chunk, last, mask)
            return asking.answers

        tasks = tuple(task.number for task in chosen.tasks)
        self.reading = BackgroundRead(key, later(read), tasks, progress.history)
        return None


def _key(progress: Progress, chosen: TaskSet, chunk: Chunk, last: bool, mask: Bools) -> tuple[Any, ...]:
    arrived, covered = (np.asarray(column)[mask].tolist() for column in (progress.events[SEQ], progress.covered))
    return chosen.plan, chosen.unit, chunk, last, tuple(arrived), tuple(covered)


class _RecordingHistory:
    """Asks history, and keeps what it says."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.answers: list[pa.Table] = []

    def history(self) -> History:
        return replace(self._history, ask=self._ask)

    def _ask(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        self.answers.append(self._history.ask(recall, asked, chunk, parts))
        return self.answers[-1]


class _RecordedAnswers:
    """Gives the answers to the same questions in the same order."""

    def __init__(self, answers: list[pa.Table]) -> None:
        self._answers = iter(answers)

    def __call__(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        answer = next(self._answers, None)
        if answer is None:
            raise error("INTERNAL", what=f"history was not asked for RECALL '{recall.alias}' before")
        return answer
