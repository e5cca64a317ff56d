"""The plan of a safe sequence, innermost part first; `classify` makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Regular:
    """Goals by an automaton, for given values of `env`."""

    goals: int  # the first so many
    env: frozenset[str]


@dataclass(frozen=True)
class Project:
    """For some value of a variable: values have nothing to do with each other."""

    variable: str
    input: SafePlan


@dataclass(frozen=True)
class Follow:
    """The input, then the goal of that number."""

    input: SafePlan
    goal: int


SafePlan = Regular | Project | Follow
