"""The open recalls of standing statements: what users say of them, and what they see of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presage.live.rooms import RecallTask, Said, tasks_of
from presage.live.tasks import Task

if TYPE_CHECKING:
    from presage.live.job import Job


def say(job: Job, command: Said, of: str | None) -> None:
    """Let the statements with RECALL, or the one of a name, hear what somebody says of an event."""
    with job.between_batches():
        job.planner.said = ((of, command),)
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
