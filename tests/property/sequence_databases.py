"""Random small databases of certain, independent and Markov streams: a source of chance in, declarations and rows out.

Keys and values share one small domain, so that any position can join with any other. Probabilities are eighths or
tenths.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from reference.possible_worlds import Row, Stream
from reference.sequence_conditions import literal

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
# The last value is rare: two values meet more often than three.
DOMAIN: dict[str, list[Any]] = {"STRING": ["a", "b", "a", "b", "c"], "INT": [1, 2, 1, 2, 3]}
NAMES = ("At", "Carries", "Door")
RELATION_TYPES = {"Hall": ("STRING",), "Office": ("STRING", "STRING"), "Big": ("INT",)}
Relations = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Declared:
    """A stream with the types of its attributes and the place of the time among its columns."""

    stream: Stream
    types: tuple[str, ...]
    time_place: int

    @property
    def text(self) -> str:
        stream = self.stream
        columns = [f"{name} {kind}" for name, kind in zip(stream.attributes, self.types, strict=True)]
        columns.insert(self.time_place, f"{stream.time} TIMESTAMP")
        text = f"CREATE STREAM {stream.name} ({', '.join(columns)}) EVENT TIME {stream.time}"
        if stream.key:
            text += f" KEY ({', '.join(stream.attributes[i] for i in stream.key)})"
        if stream.kind != "certain":
            markov = "MARKOV " if stream.kind == "markov" else ""
            text += f" PROBABILISTIC {markov}({', '.join(stream.attributes[i] for i in stream.uncertain)})"
        return text + ";"

    def places(self, kind: str, in_key: bool = False) -> list[int]:
        """The positions of one type, or only those of them that are in the key."""
        return [i for i, own in enumerate(self.types) if own == kind and (not in_key or i in self.stream.about)]


def relation_text(name: str, rows: list[tuple[Any, ...]]) -> str:
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(RELATION_TYPES[name]))
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return f"CREATE RELATION {name} ({columns}) VALUES {values};"


def relations(dice: Random) -> Relations:
    found: Relations = {}
    for name, types in RELATION_TYPES.items():
        rows = [tuple(dice.choice(DOMAIN[kind]) for kind in types) for _ in range(dice.randint(1, 4))]
        found[name] = sorted(set(rows))
    return found


def catalog(dice: Random) -> list[Declared]:
    """One to three streams. The first is uncertain: else there would be nothing to find out."""
    types = dice.choice([["STRING"], ["STRING"], ["STRING", "STRING", "INT"]])
    found = [declared(dice, NAMES[0], ["independent", "markov"], types, "at")]
    for name in NAMES[1 : dice.choice([1, 2, 2, 3])]:
        kinds = ["independent", "independent", "markov", "markov", "certain"]
        found.append(declared(dice, name, kinds, types, dice.choice(["at", "at", "seen"])))
    return found


def declared(dice: Random, name: str, kinds: list[Any], types: list[str], time: str) -> Declared:
    """A stream of one of these kinds; its key has one or two attributes, the first of the type STRING."""
    kind = dice.choice(kinds)
    keys = dice.choice([0, 0, 1, 2] if kind == "certain" else [1, 1, 2])
    values = dice.choice([1, 1, 1, 2])
    columns = [(f"k{i}", "STRING" if i == 0 else dice.choice(types)) for i in range(keys)]
    columns += [(f"v{i}", dice.choice(types)) for i in range(values)]
    if dice.random() < 0.25:
        dice.shuffle(columns)
    names = tuple(column for column, _ in columns)
    key = tuple(names.index(f"k{i}") for i in range(keys))
    uncertain = () if kind == "certain" else tuple(names.index(f"v{i}") for i in range(values))
    place = dice.choice([len(columns), len(columns), 0, 1])
    return Declared(Stream(name, names, key, uncertain, kind, time), tuple(kind for _, kind in columns), place)


# -- rows ---------------------------------------------------------------------------------------------------------


def database(dice: Random, streams: list[Declared], most_steps: int) -> dict[str, list[Row]]:
    """Rows for each stream: each has its own choice of the steps, and each key of those."""
    count = most_steps if dice.random() < 0.6 else dice.randint(1, most_steps)
    found = {}
    for each in streams:
        gaps = dice.random() < 0.3
        times = [START + timedelta(seconds=i) for i in range(count) if not gaps or dice.random() < 0.7]
        rows = certain_rows(dice, each, times) if each.stream.kind == "certain" else uncertain_rows(dice, each, times)
        found[each.stream.name] = dice.sample(rows, len(rows)) if dice.random() < 0.2 else rows
    return found


def values_at(dice: Random, each: Declared, places: tuple[int, ...]) -> Row:
    return {each.stream.attributes[i]: dice.choice(DOMAIN[each.types[i]]) for i in places}


def distinct(rows: list[Row]) -> list[Row]:
    return [row for i, row in enumerate(rows) if row not in rows[:i]]


def certain_rows(dice: Random, each: Declared, times: list[datetime]) -> list[Row]:
    everything = tuple(range(len(each.types)))
    chosen = [time for time in times for _ in range(dice.choice([0, 1, 1, 2]))]
    return distinct([values_at(dice, each, everything) | {each.stream.time: time} for time in chosen])


def uncertain_rows(dice: Random, each: Declared, times: list[datetime]) -> list[Row]:
    keys = distinct([values_at(dice, each, each.stream.key) for _ in range(dice.choice([1, 2, 2, 3]))])
    rows: list[Row] = []
    for key in keys:
        before: list[Row | None] = [None]
        for time in times:
            if dice.random() < 0.15:
                continue
            at = key | {each.stream.time: time}
            if each.stream.kind == "independent":
                rows += [at | line for line in distribution(dice, each)]
                continue
            happened: list[Row] = []
            for old in previous_values(dice, each, before):
                lines = distribution(dice, each)
                rows += [at | line | previous_columns(each, old) for line in lines]
                happened += [{name: line[name] for name in line if name != "probability"} for line in lines]
            before = [None, *distinct(happened)]
    return rows


def previous_values(dice: Random, each: Declared, possible: list[Row | None]) -> list[Row | None]:
    """The previous values that have rows: most of those that can be, and at times one that cannot."""
    chosen = [old for old in possible if len(possible) == 1 or dice.random() < 0.85]
    if dice.random() < 0.1:
        other = values_at(dice, each, each.stream.uncertain)
        chosen += [other] if other not in chosen else []
    return chosen


def previous_columns(each: Declared, old: Row | None) -> Row:
    names = [each.stream.attributes[i] for i in each.stream.uncertain]
    return {f"prev_{name}": None if old is None else old[name] for name in names}


def distribution(dice: Random, each: Declared) -> list[Row]:
    """One to three alternatives, often with mass left over for no event."""
    found = distinct([values_at(dice, each, each.stream.uncertain) for _ in range(dice.choice([1, 1, 2, 2, 3]))])
    parts = dice.choice([8, 10])
    left, lines = parts, []
    for i, value in enumerate(found):
        others = len(found) - 1 - i
        share = left if others == 0 and dice.random() < 0.5 else dice.randint(1, left - others)
        left -= share
        lines.append(value | {"probability": share / parts})
    if dice.random() < 0.05:
        lines[-1]["probability"] = 0.0
    return lines
