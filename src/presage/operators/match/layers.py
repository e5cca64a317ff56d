"""Columns for the nodes of a directed graph: edges lead from left to right.

Nodes of a loop (a strongly connected component) stay together: within it a node's column is its distance from the entry
of the loop. So the alternatives of `(A | B)*` are in one column and the steps of `(A B)*` in a row.
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
    # Loops are in topological order.
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
    distances = dict.fromkeys((node for node in loop if node in entries), 0)
    reached = list(distances)
    for node in reached:  # grows while it is walked
        for target in graph[node]:
            if target in inside and target not in distances:
                distances[target] = distances[node] + 1
                reached.append(target)
    return distances


def _loops(graph: Graph, start: int) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan's algorithm)."""
    order: dict[int, int] = {start: 0}
    low: dict[int, int] = {start: 0}
    open_: list[int] = [start]
    is_open = {start}
    loops: list[list[int]] = []
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
                loops.append(sorted(open_[at:]))
                is_open -= set(open_[at:])
                del open_[at:]
    return loops[::-1]
