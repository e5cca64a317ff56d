"""Commands of users on the open recalls of deployed statements, and SHOW RECALLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.errors import did_you_mean, error
from presage.lang.recall_syntax import RecallCommand
from presage.model.time import format_timestamp
from presage.operators.recall.executor import OpenRecall, RecallControl
from presage.operators.recall.questions import EVER

if TYPE_CHECKING:
    from presage.live.job import Job


_COLUMNS = (
    *("statement", "event_id", "state", "tickets", "chunks", "of_chunks"),
    *("results", "covered_from", "covered_to", "priority"),
)


def execute_recall_command(job: Job, command: RecallCommand) -> None:
    """Cancel, accelerate or suspend the recalls of an event, in all statements or in one."""
    with job.between_batches():
        events = [recall.task.event for name, recall in open_recalls(job) if command.of in (None, name)]
        if command.event_id not in events:
            fix = did_you_mean(command.event_id, events, "SHOW RECALLS lists the open ones")
            raise error("UNKNOWN_OBJECT", command.span, kind="open recall", name=command.event_id, fix=fix)
        job.command_recalls(((command.of, RecallControl(command.action, command.event_id)),))


def open_recalls(job: Job) -> list[tuple[str, OpenRecall]]:
    """The open recalls, each with the name of its statement."""
    with job.between_batches():
        return [(st.name, recall) for st in list(job.statements.values()) for recall in job.open_recalls(st.number)]


def show_recalls(job: Job) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """SHOW RECALLS: the open recalls with their progress and priority."""
    return _COLUMNS, [(name, *_shown(recall)) for name, recall in open_recalls(job)]


def _shown(recall: OpenRecall) -> tuple[Any, ...]:
    task = recall.task
    covered = (_moment(recall.covered_from), _moment(recall.covered_to))
    read = (task.unit, recall.chunks, task.results)
    return (task.event, task.state, task.tickets, *read, *covered, ("live", "background")[task.priority])


def _moment(time: int) -> str | None:
    """None for an unbounded end."""
    return None if abs(time) >= EVER else format_timestamp(time)
