"""The plan of a safe sequence, innermost part first; built by `classify`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Regular:
    """The first goals by an automaton, for given values of `env`."""

    goals: int
    env: frozenset[str]


@dataclass(frozen=True)
class Project:
    """The union over the values of a variable, which are independent of each other."""

    variable: str
    input: SafePlan


@dataclass(frozen=True)
class Follow:
    """The input, then the goal of that number."""

    input: SafePlan
    goal: int


SafePlan = Regular | Project | Follow
