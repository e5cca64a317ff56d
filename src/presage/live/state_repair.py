"""The repair of states: those that cannot be read are computed again, by the path of a statement that lost its state.

Its rows are not published again: it reads the log from its beginning, skips what it has published, and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from presage.errors import PresageError
from presage.live.job import Job
from presage.live.state_files import Chain, chains_from_json, is_lost_state, read_chain
from presage.live.statement import RUNNING
from presage.live.statement_update import from_the_beginning
from presage.storage import Log


@dataclass(frozen=True)
class LostState:
    """The state of a statement that cannot be read. `repeats`: whether it can be computed again."""

    number: str
    name: str
    file: str
    why: str
    repeats: bool


def lost_states(log: Log, job: Job) -> Iterator[LostState]:
    """The deployed statements whose states cannot be read, also those that share a state."""
    read: dict[Chain, PresageError | None] = {}
    for number, statement in job.statements.items():
        if not statement.deployed:
            continue
        chains = [*statement.states.values()]
        for name in statement.shared.values():
            chains += chains_from_json(log.live.shared_states.get(name, {})).values()
        for chain in chains:
            if chain not in read:
                read[chain] = _problem(log, chain)
            problem = read[chain]
            if problem is not None:
                repeats = statement.status == RUNNING and job.can_repeat(statement)
                yield LostState(number, statement.name, chain[0].file, problem.message, repeats)
                break


def _problem(log: Log, chain: Chain) -> PresageError | None:
    try:
        read_chain(log.home.store, log.home.states, chain)
    except PresageError as problem:
        if not is_lost_state(problem):
            raise
        return problem
    return None


def compute_again(job: Job, lost: list[LostState]) -> None:
    """Compute the states again, up to the end of the log."""
    with job.between_batches():
        again = {
            each.number: from_the_beginning(job.statements[each.number], job.programs[each.number], each.why)
            for each in lost
            if each.repeats
        }
        if again:
            job.change(again, "repair")
    while job.advance():
        pass
