"""Layers of a directed graph: those that lead on stand left of those that they lead to.

Nodes that lead back to each other (a loop) stay together: within the loop a node's column is its distance from where
the loop is entered, so that the choices of `(A | B)*` stand above each other and the steps of `(A B)*` in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Graph = Mapping[int, Sequence[int]]


def columns(graph: Graph, start: int) -> dict[int, int]:
    """The column of each node that can be reached from `start`."""
    loops = _loops(graph, start)
    loop_of = {node: number for number, loop in enumerate(loops) for node in loop}
    entered: dict[int, set[int]] = {number: set() for number in range(len(loops))}
    entered[loop_of[start]].add(start)
    begin = dict.fromkeys(range(len(loops)), 0)
    column: dict[int, int] = {}
    # The loops come so that those that lead on are before those that they lead to.
    for number, loop in enumerate(loops):
        for node, distance in _distances(graph, loop, entered[number]).items():
            column[node] = begin[number] + distance
        for node in loop:
            for target in graph[node]:
                other = loop_of[target]
                if other != number:
                    begin[other] = max(begin[other], column[node] + 1)
                    entered[other].add(target)
    return column


def _distances(graph: Graph, loop: list[int], entries: set[int]) -> dict[int, int]:
    inside = set(loop)
    found = dict.fromkeys((node for node in loop if node in entries), 0)
    reached = list(found)
    for node in reached:  # grows while it is walked
        for target in graph[node]:
            if target in inside and target not in found:
                found[target] = found[node] + 1
                reached.append(target)
    return found


def _loops(graph: Graph, start: int) -> list[list[int]]:
    """Nodes that can reach each other, together; in an order in which no edge leads back (Tarjan's algorithm)."""
    order: dict[int, int] = {start: 0}
    low: dict[int, int] = {start: 0}
    open_: list[int] = [start]
    is_open = {start}
    found: list[list[int]] = []
    path = [(start, iter(graph[start]))]
    while path:
        node, targets = path[-1]
        for target in targets:
            if target not in order:
                order[target] = low[target] = len(order)
                open_.append(target)
                is_open.add(target)
                path.append((target, iter(graph[target])))
                break
            if target in is_open:
                low[node] = min(low[node], order[target])
        else:
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == order[node]:
                at = open_.index(node)
                found.append(sorted(open_[at:]))
                is_open -= set(open_[at:])
                del open_[at:]
    return found[::-1]
