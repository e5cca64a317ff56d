"""The update of a statement by a batch: its new values from the outcomes of its tasks.

The commit draft collects the updates of all statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition, InputRange
from presage.live.program import Program
from presage.live.state_files import Chain, has_shard, is_lost_state
from presage.live.statement import FAILED, FINISHED, Statement
from presage.live.tasks import Outcome
from presage.model.time import wall_clock

NO_STATE: dict[str, Any] = {"states": {}, "shared": {}, "partial": {}, "open_events": {}, "output_watermark": None}


def output_watermark(statement: Statement, input_range: InputRange, several: list[Outcome]) -> int | None:
    """The watermark of the rows of a statement: it has emitted all rows up to this time."""
    watermarks = [o.output_watermark for o in several if o.output_watermark is not None]
    return min(input_range.end.watermark, *watermarks) if watermarks else statement.output_watermark


def changed_values(
    statement: Statement,
    program: Program,
    input_range: InputRange,
    watermarks: Mapping[str, int],
    several: list[Outcome],
    chains: Mapping[str, Chain],
    can_repeat: Callable[[], bool],
) -> dict[str, Any]:
    """`watermarks`: those of the batch, by stream; `chains`: the locations of its new states; `can_repeat`: whether the
    statement could be replayed from the log."""
    if any(o.blocked for o in several):
        return {"own_position": input_range.start}
    failure = next((o.failure for o in several if o.failure is not None), None)
    if failure is not None:
        lost = is_lost_state(failure)  # then it is recomputed from the log
        if lost and can_repeat():
            return from_the_beginning(statement, program, failure.render())
        failure.fix = "deploy it again with replace=True" if lost else failure.fix
        return {"status": FAILED, "own_position": input_range.start, "error": failure.render()}
    done = _merged(several)
    values: dict[str, Any] = {}
    if done.rows_in:
        values["rows_in"] = statement.rows_in + done.rows_in
    if done.unknown:
        values["unknown_entities"] = statement.unknown_entities + done.unknown
    skipped = min(done.rows_out, statement.to_skip)
    if skipped:
        values["to_skip"] = statement.to_skip - skipped
    if done.rows_out > skipped:
        values["rows_out"] = statement.rows_out + done.rows_out - skipped
    values |= _state_values(statement, chains, done)
    if program.lags and output_watermark(statement, input_range, several) != statement.output_watermark:
        values["output_watermark"] = output_watermark(statement, input_range, several)
    if program.ends is not None and input_range.end.watermark >= program.ends:
        values |= {"status": FINISHED, "own_position": input_range.end, **NO_STATE, "changed": wall_clock()}
    elif statement.own_position is not None:
        # Joins the others only at exactly their watermark, which must not decrease.
        joins = input_range.end.watermark == min((watermarks[s] for s in program.streams), default=NOTHING_KNOWN)
        values["own_position"] = None if joins else input_range.end
    return values


def from_the_beginning(statement: Statement, program: Program, why: str) -> dict[str, Any]:
    """The values of a statement that reads the log again, without publishing its rows twice."""
    counters = {"rows_in": 0, "unknown_entities": 0, "counters": {}, "to_skip": statement.rows_out}
    again = {"own_position": InputPosition(), "error": why, "fingerprint": program.fingerprint}
    return {**NO_STATE, **counters, **again}


@dataclass
class _Done:
    """The outcomes of all shards of a statement."""

    rows_in: int = 0
    rows_out: int = 0
    unknown: int = 0
    joined: dict[str, str] = field(default_factory=dict)
    partial: dict[str, int] = field(default_factory=dict)
    open_events: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)


def _merged(several: list[Outcome]) -> _Done:
    done = _Done()
    for o in several:
        done.rows_in = max(done.rows_in, o.rows_in)
        done.unknown += o.unknown
        done.rows_out += o.rows_out
        if o.shared is not None:
            done.joined[str(o.shard)] = o.shared.name
        done.partial |= {f"{o.shard}/{place}": count for place, count in o.partial.items()}
        done.open_events |= {f"{o.shard}/{key}": count for key, count in o.open_events.items()}
        done.counters |= {f"{o.shard}/{key}": count for key, count in o.counters.items()}
    return done


def _state_values(statement: Statement, chains: Mapping[str, Chain], done: _Done) -> dict[str, Any]:
    """The locations of its states, and the counters in them."""
    values: dict[str, Any] = {}
    if chains or not done.joined.items() <= statement.shared.items():
        shared = {k: f for k, f in {**statement.shared, **done.joined}.items() if not has_shard(chains, k)}
        if shared != statement.shared:
            values["shared"] = shared
        own = {**statement.states, **chains}
        values["states"] = {key: chain for key, chain in own.items() if key.partition("/")[0] not in shared}
    if not done.partial.items() <= statement.partial.items():
        values["partial"] = {**statement.partial, **done.partial}
    if not done.counters.items() <= statement.counters.items():
        values["counters"] = {**statement.counters, **done.counters}
    places = {_place(key) for key in done.open_events}
    open_events = {k: count for k, count in statement.open_events.items() if _place(k) not in places} | done.open_events
    return values if open_events == statement.open_events else values | {"open_events": open_events}


def _place(key: str) -> str:
    return key.rpartition("/")[0]
