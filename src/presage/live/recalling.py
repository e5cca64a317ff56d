"""The open recalls of standing statements: what users say of them, and what they see of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.errors import did_you_mean, error
from presage.lang.recall_syntax import RecallCommand
from presage.live.rooms import EVER, RecallTask, Said, tasks_of
from presage.live.tasks import Task
from presage.model.time import format_timestamp

if TYPE_CHECKING:
    from presage.live.job import Job


def say(job: Job, command: RecallCommand) -> None:
    """Let the statements with RECALL, or the one of a name, hear what somebody says of an event."""
    with job.between_batches():
        known = [(name, task.event) for name, task in recall_tasks(job) if command.of in (None, name)]
        if all(event != command.event_id for _, event in known):
            fix = did_you_mean(command.event_id, [event for _, event in known], "SHOW RECALLS lists the open ones")
            raise error("UNKNOWN_OBJECT", command.span, kind="open recall", name=command.event_id, fix=fix)
        job.planner.said = ((command.of, Said(command.action, command.event_id)),)
        try:
            job.advance()
        finally:
            job.planner.said = ()


def recall_tasks(job: Job) -> list[tuple[str, RecallTask]]:
    """The open recalls, each with the name of its statement."""
    found: list[tuple[str, RecallTask]] = []
    with job.between_batches():
        for statement in job.statements.values():
            program = job.programs.get(statement.number)
            if statement.stands and program is not None and program.recalls and statement.states:
                states = job.states(Task(statement.number, program, 0, (), 0, 0, 0, False, False))
                found += [(statement.name, task) for state in states.values() for task in tasks_of(state)]
    return found


def show_recalls(job: Job) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """SHOW RECALLS: the open recalls, who comes first, how much each has found, and how far back it has read."""
    columns = ("statement", "event_id", "state", "tickets", "chunks", "results", "priority", "covered_from")
    found = recall_tasks(job)
    return columns, [
        (name, t.event, t.state, t.tickets, t.unit, t.results, ("live", "background")[t.priority], _moment(t.covered))
        for name, t in found
    ]


def _moment(time: int | None) -> str | None:
    """None where nothing bounds what was read."""
    return None if time is None or abs(time) >= EVER else format_timestamp(time)
