"""The terms of a pattern as one array of numbers, which the compiled loop reads.

A node is named by the address of its line in the array; its lists follow after all lines. So a field of a node is
`net[node + KIND]`, and its first child `net[net[node + FIRST_CHILD]]`.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.epl.kernel.spec import Argument, Node, PatternTables, Period

FILTER, FOLLOWED, AND, OR, NOT, EVERY, DISTINCT, UNTIL, WITHIN, WHILE, INTERVAL = range(11)
KINDS = ("filter", "followed", "and", "or", "not", "every", "distinct", "until", "within", "while", "interval")

# Of each node. FIRST_x is the address of a list, x its length. Limits (of the starts of each child) follow the
# children. STAYS: a filter keeps listening after a match, because its parent would start it again at once.
(
    KIND,
    FIRST_CHILD,
    CHILDREN,
    LISTENER,
    STAYS,
    PROGRAM,
    ASKED,
    TAG,
    CONSUME,
    MOST,
    LOW,
    HIGH,
    LOW_PROGRAM,
    HIGH_PROGRAM,
    FIRST_ARGUMENT,
    ARGUMENTS,
    FIRST_KEY,
    KEYS,
    MONTHS,
    MICROS,
    SPAN_PROGRAM,
    SPAN_BANK,
    FIRST_SPAN_ARGUMENT,
    SPAN_ARGUMENTS,
    TIMED,
) = range(25)
WIDTH = 26  # states name nodes by their addresses, so a line keeps its width
RANK = MOST  # of a filter: filters of higher rank react first

CURRENT = -1  # in a list of arguments (pairs of tag and index): the event at hand, not a tag
LAST = -1


def build_network(spec: PatternTables) -> Ints:
    lines = np.full((len(spec.nodes), WIDTH), -1, np.int64)
    lists: list[int] = []

    def add(values: list[int]) -> int:
        lists.extend(values)
        return lines.size + len(lists) - len(values)

    filters = 0
    lines[:, STAYS] = 0
    ranks = _ranks(spec)
    for number, node in enumerate(spec.nodes):
        line = lines[number]
        line[KIND] = KINDS.index(node.kind)
        line[FIRST_CHILD], line[CHILDREN] = add([c * WIDTH for c in node.children]), len(node.children)
        add(_limits(node))
        if node.kind in ("every", "distinct", "until"):
            lines[node.children[0], STAYS] = 1
        line[PROGRAM], line[ASKED], line[TAG], line[CONSUME] = node.program, node.asked, node.tag, node.consume
        line[MOST], line[LOW], line[HIGH] = node.most, node.low, node.high
        line[LOW_PROGRAM], line[HIGH_PROGRAM] = node.low_program, node.high_program
        line[FIRST_ARGUMENT], line[ARGUMENTS] = add(_pairs(node.arguments)), len(node.arguments)
        line[FIRST_KEY], line[KEYS] = add([word for key in node.keys for word in key]), len(node.keys)
        period = node.period or Period()
        line[MONTHS], line[MICROS] = period.months, period.micros
        line[SPAN_PROGRAM], line[SPAN_BANK] = period.program, period.bank
        line[FIRST_SPAN_ARGUMENT], line[SPAN_ARGUMENTS] = add(_pairs(period.arguments)), len(period.arguments)
        line[TIMED] = node.kind in ("within", "interval") and node.period is not None
        if node.kind == "filter":
            line[LISTENER], line[RANK] = filters, ranks[number]
            filters += 1
        elif node.kind == "distinct":
            line[MOST] = -1 if node.period is None else 1  # whether keys are forgotten
    return np.concatenate([lines.reshape(-1), np.array(lists, np.int64)])


def _ranks(spec: PatternTables) -> list[int]:
    """The order in which the filters of one instance react to an event. Of an AND those under NOT come first, so that
    an event that passes both ends it without a match; of a repeat those of UNTIL come no later than the repeated."""
    ranks = [0] * len(spec.nodes)

    def rank(number: int, least: int) -> int:
        """Ranks a node and those below it; returns the highest rank."""
        node, ranks[number], most = spec.nodes[number], least, least
        denied = [c for c in node.children if node.kind == "and" and _denies(spec, c)]
        for child in node.children:
            if child not in denied:
                most = max(most, rank(child, most if node.kind == "until" else least))
        return max([most, *(rank(child, most + 1) for child in denied)])

    rank(0, 0)
    return ranks


def _denies(spec: PatternTables, number: int) -> bool:
    """Whether the term is a NOT, or a NOT under guards."""
    node = spec.nodes[number]
    return node.kind == "not" or (node.kind in ("within", "while") and _denies(spec, node.children[0]))


def column_of(net: Ints, spec: PatternTables, field: int) -> Ints:
    """One field of all nodes."""
    return net[: len(spec.nodes) * WIDTH].reshape(-1, WIDTH)[:, field]


def _pairs(arguments: tuple[Argument, ...]) -> list[int]:
    words = []
    for argument in arguments:
        words.append(CURRENT if argument.tag is None else argument.tag)
        words.append(LAST if argument.index is None else argument.index)
    return words


def _limits(node: Node) -> list[int]:
    if node.kind != "followed" or not node.limits:
        return [-1] * len(node.children)
    return [-1, *node.limits]
