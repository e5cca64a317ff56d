"""A statement, and the outcomes of its tasks in one batch in; the values that the batch has changed in it out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from presage.columnar.holding import NOTHING_KNOWN
from presage.errors import PresageError
from presage.live.program import Program
from presage.live.spans import Place, Span
from presage.live.statement import FAILED, FINISHED, Statement
from presage.live.states import Chain, is_lost_state, of_shard
from presage.live.tasks import Outcome

NOTHING_KEPT: dict[str, Any] = {"states": {}, "shared": {}, "partial": {}, "recalls": {}, "made_to": None}


def wall_clock() -> int:
    """Microseconds."""
    return time.time_ns() // 1_000


def made_to(statement: Statement, span: Span, several: list[Outcome]) -> int | None:
    """Up to when a statement whose rows come later than their time has made all of them."""
    known = [o.made_to for o in several if o.made_to is not None]
    return min(span.end.clock, *known) if known else statement.made_to


def changed_values(
    statement: Statement, program: Program, span: Span, marks: Mapping[str, int], several: list[Outcome],
    chains: Mapping[str, Chain], can_repeat: Callable[[], bool],
) -> dict[str, Any]:  # fmt: skip
    """`marks`: the clocks of streams in that batch; `chains`: where the states lie that it wrote; `can_repeat`: whether
    the statement could make its rows again."""
    if any(o.held for o in several):
        return {"place": span.start}
    failure = next((o.failure for o in several if o.failure is not None), None)
    if failure is not None:
        return _failed(statement, program, span, failure, can_repeat)
    done = _together(several)
    values: dict[str, Any] = {}
    if done.rows_in:
        values["rows_in"] = statement.rows_in + done.rows_in
    if done.unknown:
        values["unknown_entities"] = statement.unknown_entities + done.unknown
    skipped = min(done.made, statement.to_skip)
    if skipped:
        values["to_skip"] = statement.to_skip - skipped
    if done.made > skipped:
        values["rows_out"] = statement.rows_out + done.made - skipped
    values |= _kept(statement, chains, done)
    if program.lags and made_to(statement, span, several) != statement.made_to:
        values["made_to"] = made_to(statement, span, several)
    if program.ends is not None and span.end.clock >= program.ends:
        values |= {"status": FINISHED, "place": span.end, **NOTHING_KEPT, "changed": wall_clock()}
    elif statement.place is not None:
        # Exactly there: the others' clocks may be behind its own, and it must not go back to them.
        there = span.end.clock == min((marks[s] for s in program.streams), default=NOTHING_KNOWN)
        values["place"] = None if there else span.end
    return values


def _failed(
    statement: Statement, program: Program, span: Span, failure: PresageError, can_repeat: Callable[[], bool]
) -> dict[str, Any]:
    lost = is_lost_state(failure)  # then it is made again from the log
    if lost and can_repeat():
        skip = {"place": Place(), **NOTHING_KEPT, "to_skip": statement.rows_out, "error": failure.render()}
        return {**skip, "rows_in": 0, "unknown_entities": 0, "inference": {}, "fingerprint": program.fingerprint}
    failure.fix = "deploy it again with replace=True" if lost else failure.fix
    return {"status": FAILED, "place": span.start, "error": failure.render()}


@dataclass
class _Done:
    """What the shards of a statement did, together."""

    rows_in: int = 0
    made: int = 0
    unknown: int = 0
    joined: dict[str, str] = field(default_factory=dict)
    partial: dict[str, int] = field(default_factory=dict)
    recalls: dict[str, int] = field(default_factory=dict)
    inference: dict[str, int] = field(default_factory=dict)


def _together(several: list[Outcome]) -> _Done:
    done = _Done()
    for o in several:
        done.rows_in = max(done.rows_in, o.rows_in)
        done.unknown += o.unknown
        done.made += o.made
        if o.shared is not None:
            done.joined[str(o.shard)] = o.shared.name
        done.partial |= {f"{o.shard}/{place}": count for place, count in o.partial.items()}
        done.recalls |= {f"{o.shard}/{key}": count for key, count in o.recalls.items()}
        done.inference |= {f"{o.shard}/{key}": count for key, count in o.inference.items()}
    return done


def _kept(statement: Statement, chains: Mapping[str, Chain], done: _Done) -> dict[str, Any]:
    """Where its states lie, and what is counted of them."""
    values: dict[str, Any] = {}
    if chains or not done.joined.items() <= statement.shared.items():
        shared = {k: f for k, f in {**statement.shared, **done.joined}.items() if not of_shard(chains, k)}
        if shared != statement.shared:
            values["shared"] = shared
        own = {**statement.states, **chains}
        values["states"] = {key: chain for key, chain in own.items() if key.partition("/")[0] not in shared}
    if not done.partial.items() <= statement.partial.items():
        values["partial"] = {**statement.partial, **done.partial}
    if not done.inference.items() <= statement.inference.items():
        values["inference"] = {**statement.inference, **done.inference}
    places = {_place(key) for key in done.recalls}
    recalls = {k: count for k, count in statement.recalls.items() if _place(k) not in places} | done.recalls
    return values if recalls == statement.recalls else values | {"recalls": recalls}


def _place(key: str) -> str:
    return key.rpartition("/")[0]
