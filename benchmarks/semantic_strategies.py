"""The semantic part of query 5 by the three older strategies of the χ-CEP paper: the rivals of a native join.

`per_event` asks one ASK for each event, `buffered` one SELECT for a buffer of events, `cached` the same for those of a
buffer whose root properties are not in an LRU cache. All of them put the triples of events into the store of the closed
ontology, ask, and take them out again; all give one truth value per event, and must agree. They are measured on query 5
as printed, and on what is left of it when its constant was pruned and its comparison became a plain filter, which is
where a cache pays: the sensor is its only root. The buffer is two seconds of events and the cache holds a quarter of
the sensors, as in the paper; since ours report in turn, which is the worst order for LRU, there is one that holds all
of them, too. Caches begin empty. Interleaved runs, the minimum of three; at most 2,000 events are asked one by one.
Run as: python benchmarks/semantic_strategies.py [buildings] [sensors] [events] (the paper: 170 50000 40000)
"""

from __future__ import annotations

import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from interleaved import minima
from pyoxigraph import Literal, NamedNode, Quad, Store
from rdflib.term import BNode, URIRef
from reasonable import PyReasoner

from presage.demo import airflow_events, iri_of, make_campus, vocabulary
from presage.demo.campus_ontology import AIRFLOW, PREFIXES, write_turtle

BUFFER = 1_666  # events of two seconds, at 833 a second
SHARE = 0.25  # of the sensors, in the cache
ROUNDS = 3
ALONE = 2_000  # events that are asked one by one
LIMIT = 500.0  # hvc:GreenOfficeAirflow

# In which place, of which kind: what is left of query 5 when `?rate > 500` is a plain filter.
PLACE = """
    ?e evt:hasSource ?src .
    ?src rdf:type ee:AirflowSensor .
    ?src bd:hasLocation ?loc .
    ?loc rdf:type bd:Office .
    ?loc bd:belongsTo org:EEDepartment .
"""
# As printed.
PRINTED = PLACE + "?e hvc:airflow ?rate . hvc:GreenOfficeAirflow hvc:hasValue ?gaf . FILTER (?rate > ?gaf)"

TERMS = PREFIXES | {"rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}
EVENTS = "urn:event:"
DOUBLE = NamedNode("http://www.w3.org/2001/XMLSchema#double")

Truth = npt.NDArray[np.bool_]
Mapping = Callable[[str], str]
Strategy = Callable[[Store, pa.Table, Mapping, str], Truth]


@dataclass(frozen=True)
class Root:
    """An attribute that links an event to the world: the property that the context says, and whether to an entity."""

    attribute: str
    prefixed: str
    is_entity: bool

    @property
    def property(self) -> NamedNode:
        prefix, name = self.prefixed.split(":")
        return NamedNode(TERMS[prefix] + name)


ROOTS = (Root("sensorID", "evt:hasSource", True), Root("flowrate", "hvc:airflow", False))


def per_event(store: Store, events: pa.Table, mapping: Mapping, pattern: str) -> Truth:
    """One ASK per event."""
    roots, rows = _rows(events, pattern)
    ask = "ASK {" + re.sub(r"\?e\b", f"<{EVENTS}0>", pattern) + "}"
    truth = np.zeros(len(rows), np.bool_)
    for number, row in enumerate(rows):
        quads = list(_quads(0, roots, row, mapping))
        store.extend(quads)
        truth[number] = bool(store.query(ask, prefixes=TERMS))
        _forget(store, quads)
    return truth


def buffered(store: Store, events: pa.Table, mapping: Mapping, pattern: str, size: int = BUFFER) -> Truth:
    """One SELECT per buffer of `size` events."""
    roots, rows = _rows(events, pattern)
    parts = [
        _ask_together(store, roots, rows[start : start + size], mapping, pattern) for start in range(0, len(rows), size)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.bool_)


def cached(
    store: Store, events: pa.Table, mapping: Mapping, pattern: str, size: int = BUFFER, capacity: int | None = None
) -> Truth:
    """One SELECT per buffer, for the values of roots that are not among the `capacity` that were used last.

    Without a capacity it is a share of the values that there are. The cache begins empty with each call.
    """
    roots, rows = _rows(events, pattern)
    if capacity is None:
        capacity = max(1, int(SHARE * len(set(rows))))
    cache: OrderedDict[tuple[object, ...], bool] = OrderedDict()
    truth = np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), size):
        buffer = rows[start : start + size]
        known = {row: cache[row] for row in buffer if row in cache}
        missing = [row for row in dict.fromkeys(buffer) if row not in known]
        if missing:
            known.update(zip(missing, _ask_together(store, roots, missing, mapping, pattern).tolist(), strict=True))
        for number, row in enumerate(buffer, start):
            truth[number] = cache[row] = known[row]
            cache.move_to_end(row)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return truth


STRATEGIES: dict[str, Strategy] = {
    "per event": per_event,
    "buffered": buffered,
    "cached": cached,
    "cached, all": partial(cached, capacity=sys.maxsize),
}


def closed_store(*texts: str) -> Store:
    """The OWL RL closure of texts in Turtle, in a store."""
    reasoner = PyReasoner()
    with TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            path = Path(folder) / f"{number}.ttl"
            path.write_text(text, encoding="utf-8")
            reasoner.load_file(str(path))
    store = Store()
    # No question speaks of a blank node (of a restriction, say).
    store.bulk_extend(
        Quad(NamedNode(str(s)), NamedNode(str(p)), _term(o))
        for s, p, o in reasoner.reason()
        if not isinstance(s, BNode) and not isinstance(o, BNode)
    )
    return store


def main(buildings: int, sensors: int, count: int) -> None:
    campus = make_campus(buildings, sensors)
    began = time.perf_counter()
    store = closed_store(vocabulary(), write_turtle(campus))
    spent = time.perf_counter() - began
    values = campus.values(AIRFLOW)
    print(f"{buildings} buildings, {sensors:,} sensors, {len(values):,} of them AirflowReport's")
    print(f"{len(store):,} triples after closure, in {spent:.1f} s; {count:,} events")
    events = airflow_events(count, values)
    above = events["flowrate"].to_numpy() > LIMIT
    for title, pattern in (("as printed", PRINTED), ("pruned and transformed", PLACE)):
        counts = {name: min(count, ALONE) if strategy is per_event else count for name, strategy in STRATEGIES.items()}
        found: dict[str, Truth] = {}

        def work(name: str, pattern: str, events: pa.Table, found: dict[str, Truth]) -> None:
            found[name] = STRATEGIES[name](store, events, iri_of, pattern)

        best = minima(
            {name: partial(work, name, pattern, events.slice(0, part), found) for name, part in counts.items()}, ROUNDS
        )
        for name, truth in found.items():
            if not np.array_equal(truth, found["buffered"][: counts[name]]):
                raise SystemExit(f"{name} does not agree with buffered")
        answer = found["buffered"] if pattern is PRINTED else found["buffered"] & above
        print(f"query 5 {title}: {int(answer.sum())} events match")
        rates = {name: part / best[name] for name, part in counts.items()}
        for name, rate in rates.items():
            print(f"  {name:<12} {rate:12,.0f} events/s   {rate / rates['per event']:6.1f} x")


def _rows(events: pa.Table, pattern: str) -> tuple[list[Root], list[tuple[object, ...]]]:
    """The roots that a pattern speaks of, and their values, one tuple per event."""
    roots = [root for root in ROOTS if root.prefixed in pattern]
    return roots, list(zip(*(events[root.attribute].to_pylist() for root in roots), strict=True))


def _quads(number: int, roots: list[Root], row: tuple[object, ...], mapping: Mapping) -> Iterator[Quad]:
    event = NamedNode(f"{EVENTS}{number}")
    for root, value in zip(roots, row, strict=True):
        if value is not None:
            yield Quad(
                event,
                root.property,
                NamedNode(mapping(str(value))) if root.is_entity else Literal(str(value), datatype=DOUBLE),
            )


def _ask_together(
    store: Store, roots: list[Root], rows: list[tuple[object, ...]], mapping: Mapping, pattern: str
) -> Truth:
    quads = [quad for number, row in enumerate(rows) for quad in _quads(number, roots, row, mapping)]
    store.extend(quads)
    truth = np.zeros(len(rows), np.bool_)
    for solution in store.query(f"SELECT DISTINCT ?e {{{pattern}}}", prefixes=TERMS):  # type: ignore[union-attr]
        truth[int(solution["e"].value.removeprefix(EVENTS))] = True
    _forget(store, quads)
    return truth


def _forget(store: Store, quads: list[Quad]) -> None:
    for quad in quads:
        store.remove(quad)


def _term(term: object) -> NamedNode | Literal:
    if isinstance(term, URIRef):
        return NamedNode(str(term))
    language, datatype = term.language, term.datatype  # type: ignore[attr-defined]
    if language:
        return Literal(str(term), language=language)
    return Literal(str(term), datatype=NamedNode(str(datatype))) if datatype else Literal(str(term))


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(10, 3_000, 2_000)[len(given) :])
