"""The terms of a pattern come in, the same as tables of numbers go out: what the compiled loop reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints
from presage.patterns.kernel.pattern_spec import Argument, Node, PatternSpec, Period

FILTER, FOLLOWED, AND, OR, NOT, EVERY, DISTINCT, UNTIL, WITHIN, WHILE, INTERVAL = range(11)
KINDS = ("filter", "followed", "and", "or", "not", "every", "distinct", "until", "within", "while", "interval")

# Columns of `nodes`. FIRST_x and x are where a node's part of another table begins and how long it is.
KIND, FIRST_CHILD, CHILDREN, LISTENER, PROGRAM, ASKED, TAG, CONSUME, MOST, LOW, HIGH, LOW_PROGRAM, HIGH_PROGRAM = range(
    13
)
FIRST_ARGUMENT, ARGUMENTS, FIRST_KEY, KEYS, MONTHS, MICROS, SPAN_PROGRAM, SPAN_BANK = range(13, 21)
FIRST_SPAN_ARGUMENT, SPAN_ARGUMENTS, CLOCKED = range(21, 24)
WIDTH = 24

# How the timers of a node are kept (CLOCKED): with one constant period they fall due as they were made.
UNTIMED, QUEUED, HEAPED = 0, 1, 2

CURRENT = -1  # in `arguments`: the event at hand instead of a tag
LAST = -1


class Network(NamedTuple):
    """All int64. `nodes` (nodes, WIDTH); `children` and `limits` by FIRST_CHILD (a limit belongs to the child whose
    starts it bounds); `arguments` (n, 2): tag and index; `keys` (n, 2): program and bank; `listeners`: node of each
    filter; `clocked`: nodes with a queue of timers; `reacts` (nodes,): whether a filter goes on listening when it
    matched, because its parent would start it again at once."""

    nodes: Ints
    children: Ints
    limits: Ints
    arguments: Ints
    keys: Ints
    listeners: Ints
    clocked: Ints
    stays: Ints


def build_network(spec: PatternSpec) -> Network:
    nodes = np.full((len(spec.nodes), WIDTH), -1, np.int64)
    children: list[int] = []
    limits: list[int] = []
    arguments: list[tuple[int, int]] = []
    keys: list[tuple[int, int]] = []
    listeners: list[int] = []
    stays = np.zeros(len(spec.nodes), np.int64)

    def add(taken: tuple[Argument, ...]) -> int:
        first = len(arguments)
        for argument in taken:
            tag = CURRENT if argument.tag is None else argument.tag
            arguments.append((tag, LAST if argument.index is None else argument.index))
        return first

    for number, node in enumerate(spec.nodes):
        line = nodes[number]
        line[KIND] = KINDS.index(node.kind)
        line[FIRST_CHILD], line[CHILDREN] = len(children), len(node.children)
        children += node.children
        limits += _limits(node)
        if node.kind in ("every", "distinct", "until"):
            stays[list(node.children[:1] if node.kind == "until" else node.children)] = 1
        if node.kind == "filter":
            line[LISTENER] = len(listeners)
            listeners.append(number)
        line[PROGRAM], line[ASKED], line[TAG], line[CONSUME] = node.program, node.asked, node.tag, node.consume
        line[MOST], line[LOW], line[HIGH] = node.most, node.low, node.high
        line[LOW_PROGRAM], line[HIGH_PROGRAM] = node.low_program, node.high_program
        line[FIRST_ARGUMENT], line[ARGUMENTS] = add(node.arguments), len(node.arguments)
        line[FIRST_KEY], line[KEYS] = len(keys), len(node.keys)
        keys += node.keys
        period = node.period or Period()
        line[MONTHS], line[MICROS] = period.months, period.micros
        line[SPAN_PROGRAM], line[SPAN_BANK] = period.program, period.bank
        line[FIRST_SPAN_ARGUMENT], line[SPAN_ARGUMENTS] = add(period.arguments), len(period.arguments)
        line[CLOCKED] = _clocked(node)
        if node.kind == "distinct":
            line[MOST] = -1 if node.period is None else 1  # whether keys are forgotten
    return Network(
        nodes,
        np.array(children, np.int64),
        np.array(limits, np.int64),
        np.array(arguments, np.int64).reshape(-1, 2),
        np.array(keys, np.int64).reshape(-1, 2),
        np.array(listeners, np.int64),
        np.flatnonzero(nodes[:, CLOCKED] == QUEUED).astype(np.int64),
        stays,
    )


def _limits(node: Node) -> list[int]:
    if node.kind != "followed" or not node.limits:
        return [-1] * len(node.children)
    return [-1, *node.limits]


def _clocked(node: Node) -> int:
    if node.kind not in ("within", "interval") or node.period is None:
        return UNTIMED
    return QUEUED if node.period.program < 0 else HEAPED
