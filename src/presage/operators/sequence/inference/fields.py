"""Checked fields of a model file; errors name the place, the value found and the value expected."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from presage.errors import PresageError, did_you_mean, error
from presage.model.time import parse_duration

StateName = str | int | float
TOLERANCE = 1e-9  # how far the sum of a distribution may be from 1
MOST_STATES = 10_000
MOST_SHOWN = 60  # characters of a wrong value that an error repeats


def read_text(path: str | PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise error("FILE_NOT_FOUND", path=path, fix="check the name of the model's file") from None
    except UnicodeDecodeError:
        raise error("FILE_UNREADABLE", path=path, why="it is not UTF-8", fix="save the file as UTF-8") from None
    except OSError as failure:
        why = failure.strerror or str(failure)
        raise error("FILE_UNREADABLE", path=path, why=why, fix="check the name and its permissions") from None


def read_json(text: str, path: str) -> Any:
    """The content of a JSON text without repeated fields; `path` is its file, for errors."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, path))
    except json.JSONDecodeError as failure:
        why = f"line {failure.lineno}, column {failure.colno}: {failure.msg}"
        raise error("FILE_UNREADABLE", path=path, why=f"it is not JSON ({why})", fix="mend that place") from None
    except RecursionError:
        raise error("FILE_UNREADABLE", path=path, why="it is nested too deeply", fix="write a model file") from None


def _once(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise error("DUPLICATE_NAME", name=twice, where=f"an object of '{path}'", fix="keep one of the two")
    return content


class Fields:
    """Checks of the fields of one file. Once `states` has been called, states are known by their numbers."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._numbers: dict[StateName, int] = {}

    @property
    def size(self) -> int:
        return len(self._numbers)

    def wrong(self, field: str, found: object, expected: str, fix: str = "") -> PresageError:
        shown = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)
        shown = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + "…"
        what = f"'{field}' in the model file '{self.path}'"
        return error("BAD_VALUE", what=what, found=shown, expected=expected, fix=fix or "mend the field")

    def table(self, given: Any, place: str, known: Sequence[str]) -> Mapping[str, Any]:
        """An object with no other fields than the known ones."""
        if not isinstance(given, Mapping):
            raise self.wrong(place, given, "an object { … }")
        for name in given:
            if name not in known:
                owner = f"the model file '{self.path}', in {place}"
                raise error("UNKNOWN_OPTION", name=name, owner=owner, fix=did_you_mean(name, known))
        return given

    def required(self, table: Mapping[str, Any], name: str, expected: str, place: str = "") -> Any:
        if name not in table:
            field = f"{place}.{name}" if place else name
            raise self.wrong(field, "missing", expected, f'add "{name}" to the file')
        return table[name]

    def sequence(self, given: Any, place: str) -> Sequence[Any]:
        if not isinstance(given, list):
            raise self.wrong(place, given, "a list [ … ]")
        return given

    def states(self, given: Any) -> tuple[StateName, ...]:
        states = self.sequence(given, "states")
        if not 0 < len(states) <= MOST_STATES:
            raise self.wrong("states", f"{len(states)} states", f"1 to {MOST_STATES:,} states")
        texts = all(isinstance(state, str) for state in states)
        if not texts and not all(_is_number(state) for state in states):
            raise self.wrong("states", states, "names, or finite numbers, and not both")
        for number, state in enumerate(states):
            if self._numbers.setdefault(state, number) != number:
                raise self.wrong("states", f"a list with '{state}' twice", "a list with each state once")
        if not texts and any(isinstance(state, float) for state in states):
            return tuple(float(state) for state in states)
        return tuple(states)

    def is_state(self, name: Any) -> bool:
        return self._number(name) is not None

    def state(self, name: Any, place: str) -> int:
        """The number of a state. Names of fields are always texts, so a number may be spelled as one."""
        number = self._number(name)
        if number is None:
            raise self.wrong(place, f"'{name}', which is no state", 'one of "states"', self._nearest_state(name))
        return number

    def _number(self, name: Any) -> int | None:
        if isinstance(name, str) and self._numbers and not isinstance(next(iter(self._numbers)), str):
            try:
                name = float(name) if not name.lstrip("-").isdigit() else int(name)
            except ValueError:
                return None
        return None if isinstance(name, bool | list | dict) else self._numbers.get(name)

    def _nearest_state(self, name: Any) -> str:
        return did_you_mean(str(name), map(str, self._numbers))

    def by_state(self, given: Any, place: str, meaning: str) -> list[tuple[str, Any]]:
        """(place, value) for each state in order, from an object by state or from a list in the order of the states."""
        if isinstance(given, list):
            if len(given) != self.size:
                raise self.wrong(place, f"a list of {len(given)}", f"one entry for each of the {self.size} states")
            return [(f"{place}[{i}]", value) for i, value in enumerate(given)]
        if not isinstance(given, Mapping):
            raise self.wrong(place, given, "an object by state, or a list in the order of the states")
        found: dict[int, tuple[str, Any]] = {}
        for name, value in given.items():
            number = self.state(name, place)
            if number in found:
                raise self.wrong(place, f"an object with state '{name}' twice", "each state once")
            found[number] = (f"{place}.{name}", value)
        for state, number in self._numbers.items():
            if number not in found:
                raise self.wrong(place, f"without state '{state}'", f"for each state {meaning}", f'add "{state}"')
        return [found[number] for number in range(self.size)]

    def probability(self, given: Any, place: str) -> float:
        if not _is_number(given) or not 0.0 <= given <= 1.0:
            raise self.wrong(place, given, "a probability between 0 and 1")
        return float(given)

    def distribution(self, given: Any, place: str) -> tuple[float, ...]:
        """A probability for each state, 0 for those that an object leaves out; they sum to 1."""
        chances = [0.0] * self.size
        if isinstance(given, list):
            for number, (where, value) in enumerate(self.by_state(given, place, "a probability")):
                chances[number] = self.probability(value, where)
        elif isinstance(given, Mapping):
            named: set[int] = set()
            for name, value in given.items():
                number = self.state(name, place)
                if number in named:
                    raise self.wrong(place, f"an object with state '{name}' twice", "each state once")
                named.add(number)
                chances[number] = self.probability(value, f"{place}.{name}")
        else:
            raise self.wrong(place, given, "probabilities, as an object by state or as a list")
        total = math.fsum(chances)
        if abs(total - 1.0) > TOLERANCE:
            raise self.wrong(place, f"a distribution that sums to {total:.12g}", "one that sums to 1")
        return tuple(chances)

    def chances(self, given: Any, place: str) -> dict[str, float]:
        """A probability for each reading; they sum to at most 1."""
        if not isinstance(given, Mapping):
            raise self.wrong(place, given, "an object: readings and their probabilities")
        chances = {symbol: self.probability(value, f"{place}.{symbol}") for symbol, value in given.items()}
        total = math.fsum(chances.values())
        if total > 1.0 + TOLERANCE:
            raise self.wrong(place, f"a distribution that sums to {total:.12g}", "one that sums to at most 1")
        return chances

    def vectors(
        self, given: Any, place: str, width: int | None = None, positive: bool = False
    ) -> tuple[tuple[float, ...], ...]:
        """For each state a number, or a list of numbers of one length."""
        vectors = []
        for where, value in self.by_state(given, place, "a number"):
            parts = value if isinstance(value, list) else [value]
            if not parts or not all(_is_number(part) and (part > 0 or not positive) for part in parts):
                raise self.wrong(where, value, "a number above 0" if positive else "a finite number")
            width = len(parts) if width is None else width
            if len(parts) != width:
                raise self.wrong(where, f"{len(parts)} numbers", f"{width}, one for each attribute of a reading")
            vectors.append(tuple(float(part) for part in parts))
        return tuple(vectors)

    def duration(self, given: Any, place: str) -> int:
        micros = parse_duration(given) if isinstance(given, str) else None
        if micros is None or not 0 < micros < 2**62:
            raise self.wrong(place, given, "a duration above 0", 'write for example "1 sec" or "500 msec"')
        return micros


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63
