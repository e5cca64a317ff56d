"""The pattern of a MATCH_RECOGNIZE as a tree, from which `automaton` is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Concat:
    items: tuple[Regex, ...]


@dataclass(frozen=True)
class Alternation:
    """The first item that leads to a match is preferred."""

    items: tuple[Regex, ...]


@dataclass(frozen=True)
class Repeat:
    """`high` None: no upper bound. Greedy: more rounds are preferred, else fewer."""

    item: Regex
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Permute:
    """All items in any order; orders are preferred as the items are written."""

    items: tuple[Regex, ...]


@dataclass(frozen=True)
class Exclude:
    """{- … -}: matched, but not shown."""

    item: Regex


@dataclass(frozen=True)
class StartAnchor:
    """^: before the partition's first row."""


@dataclass(frozen=True)
class EndAnchor:
    """$: after the partition's last row."""


@dataclass(frozen=True)
class Empty:
    """(): no row."""


Regex = Variable | Concat | Alternation | Repeat | Permute | Exclude | StartAnchor | EndAnchor | Empty
