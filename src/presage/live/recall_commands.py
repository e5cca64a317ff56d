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
    "statement",
    "event_id",
    "state",
    "tickets",
    "chunks",
    "of_chunks",
    "results",
    "covered_from",
    "covered_to",
    "priority",
)


def execute_recall_command(job: Job, command: RecallCommand) -> None:
    """Cancel, accelerate or suspend the recalls of an event, in all statements or in one."""
    with job.between_batches():
        known = [(name, found.task.event) for name, found in open_recalls(job) if command.of in (None, name)]
        if all(event != command.event_id for _, event in known):
            fix = did_you_mean(command.event_id, [event for _, event in known], "SHOW RECALLS lists the open ones")
            raise error("UNKNOWN_OBJECT", command.span, kind="open recall", name=command.event_id, fix=fix)
        job.command_recalls(((command.of, RecallControl(command.action, command.event_id)),))


def open_recalls(job: Job) -> list[tuple[str, OpenRecall]]:
    """The open recalls, each with the name of its statement."""
    with job.between_batches():
        return [(st.name, found) for st in list(job.statements.values()) for found in job.open_recalls(st.number)]


def show_recalls(job: Job) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """SHOW RECALLS: the open recalls, their priority, and how much each has read and found."""
    return _COLUMNS, [(name, *_shown(found)) for name, found in open_recalls(job)]


def _shown(found: OpenRecall) -> tuple[Any, ...]:
    task = found.task
    covered = (_moment(found.covered_from), _moment(found.covered_to))
    read = (task.unit, found.chunks, task.results)
    return (task.event, task.state, task.tickets, *read, *covered, ("live", "background")[task.priority])


def _moment(time: int) -> str | None:
    """None where nothing bounds what was read."""
    return None if abs(time) >= EVER else format_timestamp(time)
