"""Queries in the words of the domain against their syntactic twins, against older strategies; when they are ready.

The campus of 170 buildings and 50,000 sensors, a million triples after closure; 16,517 sensors report to AirflowReport.
The queries are the χ-CEP paper's: query 5 is query 1 for the offices of one department, with the limit that the
ontology has for offices; query 7 is query 3 for meeting rooms. Each pair sees the same events, and its rows are
collected in the same way, but there are fewer of the semantic query's.

twins     the same archived events in batch, and as deployed statements in batches of 200,000 events: from the moment
          that a load has returned to the moment that its rows are committed, no session in the loop
rivals    query 5 against one ASK for each event, and the other strategies of `semantic_strategies.py`, on samples
ready     CREATE KNOWLEDGE, deploy and the first thousand events of query 5, in an empty home and in one that was closed
newcomers batches in which 1 % of the sensors have never reported before, against batches without such

Rivals take turns, the minimum of seven after one round that is not counted. `spread` is the median over the minimum:
how quiet the machine was. Run as: python benchmarks/knowledge.py [quick] [twins] [rivals] [ready] [newcomers]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from knowledge_world import BATCH, Clock, Sizes, World, about, query, verdict
from pyoxigraph import Store
from semantic_strategies import ALONE, LIMIT, PLACE, PRINTED, buffered, cached, per_event

from presage import Engine
from presage.demo import iri_of
from presage.demo.campus_ontology import AIRFLOW
from presage.operators.knowledge import graph, graph_cache
from presage.operators.knowledge.library import Library

QUICK = Sizes(10, 3_000, 200_000, 2, 50_000, 1_000, 3)
AS_FAST, TIMES_ALONE, COLD, KEPT, NEWCOMERS = 0.8, 50.0, 30.0, 10.0, 1.5
SEMANTIC = ("query 5", "query 7")
SHARE = 0.01  # of the sensors, never heard of before
FIRST = 1_000  # events by which a statement shows that it is ready

# A condition on the place that the store is asked for each sensor: it cannot be taken apart, for its OPTIONAL.
OPEN = PLACE + "OPTIONAL { ?e evt:hasSource/bd:hasLocation/bd:closed ?closed } FILTER (!bound(?closed))"
# The same, of each combination of a sensor and a rate: these are new with nearly every event.
ROUNDED = PLACE + "?e hvc:airflow ?rate . FILTER (floor(?rate) > 500)"
# What the time until a statement is ready is spent on: whose function it is, and its name.
PHASES: dict[str, tuple[object, str]] = {
    "files kept": (Library, "take_in"),
    "files parsed": (graph, "_number"),
    "closure": (graph, "close"),
    "contradictions sought": (graph, "contradictions"),
    "closed graph written": (graph_cache, "save"),
    "closed graph read": (graph_cache, "load"),
    "store filled": (graph, "_filled"),
    "tables": (Library, "rows"),
}

Work = Callable[[], object]


def in_turn(rivals: dict[str, Work], rounds: int) -> Clock:
    clock = Clock()
    for number in range(rounds + 1):
        for name, work in rivals.items():
            start = time.perf_counter()
            work()
            if number:
                clock.note(name, time.perf_counter() - start)
    return clock


# -- twins ------------------------------------------------------------------------------------------


def twins(world: World) -> None:
    sizes = world.sizes
    with Engine(home=world.home(), roots=[world.folder]) as engine:
        engine.execute(world.declarations)
        load(engine, world)
        rates = world.events(sizes.events)["flowrate"].to_numpy()
        few = engine.query(query(5)).to_arrow().num_rows
        # Rows cost, too: a query 1 with as few of them shows what the words of the domain alone do.
        least = float(np.sort(rates)[-few - 1]) if few else 1e9
        texts = {f"query {n}": query(n) for n in (1, 5)}
        texts["query 1, as few rows"] = query(1).replace("> 500", f"> {least}").replace(", ?e.flowrate", "")
        print(f"batch, {sizes.events:,} events")
        compare(engine, texts, "query 1", sizes)
        compare(engine, {f"query {n}": query(n) for n in (3, 7)}, "query 3", sizes)
    print(f"deployed, batches of {sizes.batch:,} events, {sizes.batches} to a round")
    for pair in ((1, 5), (3, 7)):
        compare_standing(world, pair)


def load(engine: Engine, world: World) -> None:
    for offset in range(0, world.sizes.events, BATCH):
        engine.load(AIRFLOW, world.events(min(BATCH, world.sizes.events - offset), offset))
    engine.maintain()


def compare(engine: Engine, texts: dict[str, str], floor: str, sizes: Sizes) -> None:
    rows: dict[str, int] = {}

    def run(name: str, text: str) -> None:
        rows[name] = engine.query(text).to_arrow().num_rows

    clock = in_turn({name: partial(run, name, text) for name, text in texts.items()}, sizes.rounds)
    for name in texts:
        line(name, clock, floor, sizes.events, f"{rows[name]:>9,} rows")


def compare_standing(world: World, pair: tuple[int, int]) -> None:
    sizes, clock = world.sizes, Clock()
    names = [f"query {number}" for number in pair]
    with world.stack:
        statements = {name: world.deploy(query(number)) for name, number in zip(names, pair, strict=True)}
        for day in range(sizes.rounds + 1):
            spent = dict.fromkeys(names, 0.0)
            for place in range(sizes.batches):
                events = world.events(sizes.batch, place * sizes.batch, day)
                for name in names:
                    spent[name] += statements[name].take_in(events)
            for name in names if day else ():
                clock.note(name, spent[name])
        for name in names:
            rows = statements[name].deployment.status.rows_out // (sizes.rounds + 1)
            line(name, clock, names[0], sizes.batches * sizes.batch, f"{rows:>9,} rows")


def line(name: str, clock: Clock, floor: str, events: int, more: str = "") -> None:
    ratio = clock.best(floor) / clock.best(name)
    target = "" if name == floor else f"   {ratio:5.2f} x the throughput"
    if name in SEMANTIC:
        target += verdict(ratio >= AS_FAST, AS_FAST)
    rate = events / clock.best(name) / 1e6
    print(f"  {name:<22} {clock.best(name):7.3f} s {rate:7.2f} M/s {more}   {clock.spread(name)}{target}")


# -- rivals -----------------------------------------------------------------------------------------


def rivals(world: World) -> None:
    sizes, found = world.sizes, dict[str, int]()
    counts = {"query 5, batch": sizes.events, "per event": ALONE, "buffered": 20_000, "cached": 20_000}
    counts |= {"query 5, deployed": sizes.batch, "cached, pruned": sizes.events // 10}
    events = world.events(sizes.events)
    above = events["flowrate"].to_numpy() > LIMIT
    clock = Clock()
    with Engine(home=world.home(), roots=[world.folder]) as engine, world.stack:
        engine.execute(world.declarations)
        load(engine, world)
        deployed = world.deploy(query(5))
        bases = list(engine.catalog.knowledge.values())
        ways: dict[str, Callable[[Store, pa.Table], int]] = {
            "query 5, batch": lambda store, part: engine.query(query(5)).to_arrow().num_rows,
            "per event": lambda store, part: int(per_event(store, part, iri_of, PRINTED).sum()),
            "buffered": lambda store, part: int(buffered(store, part, iri_of, PRINTED).sum()),
            "cached": lambda store, part: int(cached(store, part, iri_of, PRINTED).sum()),
            "cached, pruned": lambda store, part: int(
                (cached(store, part, iri_of, PLACE, capacity=sys.maxsize) & above[: len(part)]).sum()
            ),
        }
        for number in range(sizes.rounds + 1):
            # A new one each time: a store in memory gets slower with all that was ever taken out of it.
            store = Library(engine.home / "knowledge").graph(bases)._store
            for name, way in ways.items():
                part = events.slice(0, counts[name])
                start = time.perf_counter()
                found[name] = way(store, part)
                if number:
                    clock.note(name, time.perf_counter() - start)
            seconds = deployed.take_in(world.events(counts["query 5, deployed"], day=number))
            if number:
                clock.note("query 5, deployed", seconds)
        made = deployed.deployment.status.rows_out // (sizes.rounds + 1)
    whole = int((cached(store, events, iri_of, PLACE, capacity=sys.maxsize) & above).sum())
    if found["query 5, batch"] != whole:
        raise SystemExit(f"query 5 finds {found['query 5, batch']} events, the strategies find {whole}")
    found["query 5, deployed"] = made
    print("query 5 by the strategies of the paper, each on as many events as it can do in a while")
    rates = {name: counts[name] / clock.best(name) for name in ("query 5, batch", "query 5, deployed", *ways)}
    for name, rate in rates.items():
        ratio = rate / rates["per event"]
        target = verdict(ratio >= TIMES_ALONE, TIMES_ALONE) if name.startswith("query 5") else ""
        told = f"{counts[name]:>9,} events, {found[name]:>6,} rows   {clock.spread(name)}"
        print(f"  {name:<22} {rate:12,.0f} events/s   {told}   {ratio:8.1f} x per event{target}")


# -- ready ------------------------------------------------------------------------------------------


def ready(world: World) -> None:
    world.declarations  # noqa: B018  its files are written once
    events = world.events(FIRST)
    clock = Clock()
    phases: dict[str, list[dict[str, float]]] = {"empty home": [], "closed home": []}
    triples = 0
    for _ in range(world.sizes.rounds):
        home = world.home()
        for name in phases:
            spent: dict[str, float] = {}
            start = time.perf_counter()
            with watched(spent), world.open(home) as engine:
                if name == "empty home":
                    engine.execute(world.declarations)
                    engine.deploy(query(5), name="measured")
                deployed = time.perf_counter() - start
                engine.load(AIRFLOW, events)
                engine.deployments["measured"].drain()
                clock.note(name, time.perf_counter() - start)
                triples = len(engine._workspace.library.graph(engine.catalog.knowledge.values()))
            phases[name].append({**spent, "until deployed": deployed})
    print(f"query 5 ready, {triples:,} triples after closure, {FIRST:,} events answered")
    for name, target in (("empty home", COLD), ("closed home", KEPT)):
        seconds = clock.best(name)
        told = verdict(seconds <= target, target)
        print(f"  {name:<22} {seconds:7.2f} s   {clock.spread(name)}{told}")
        spent = phases[name][clock.taken[name].index(seconds)]
        deployed = spent.pop("until deployed")
        rest = seconds - sum(spent.values())
        shown = [*spent.items(), ("the rest", rest)]
        print("    " + ", ".join(f"{phase} {part:.2f}" for phase, part in shown if part >= 0.005))
        print(f"    deployed after {deployed:.2f} s, the events took {seconds - deployed:.2f} s")


@contextmanager
def watched(spent: dict[str, float]) -> Iterator[None]:
    """Note the seconds of each phase."""
    with ExitStack() as stack:
        for phase, (owner, name) in PHASES.items():
            stack.enter_context(patch.object(owner, name, timed(getattr(owner, name), phase, spent)))
        yield


def timed(function: Callable[..., Any], phase: str, spent: dict[str, float]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[phase] = spent.get(phase, 0.0) + time.perf_counter() - start

    return call


# -- newcomers --------------------------------------------------------------------------------------


def newcomers(world: World) -> None:
    print("batches of a deployed statement in which 1 % of the sensors are new, against batches without such")
    compare_newcomers(world, "query 5", query(5), world.sizes.batch)
    compare_newcomers(world, "asked of sensors", about(OPEN), world.sizes.batch)
    compare_newcomers(world, "asked of sensors and rates", about(ROUNDED), world.sizes.asked)


def compare_newcomers(world: World, title: str, text: str, count: int) -> None:
    """Batches of several kinds take turns. Sensors report equally often, so 1 % of them send 1 % of the events."""
    rounds, clock = world.sizes.rounds, Clock()
    several = max(1, round(SHARE * len(world.sensors)))
    apart = several * (rounds + 1)
    usual, unheard = world.sensors[apart:], world.sensors[:apart]
    with world.stack:
        deployed = world.deploy(text)
        deployed.take_in(world.events(len(usual), sensors=usual))
        for number in range(rounds + 1):
            kinds = {
                "without": usual,
                "known to the ontology": mixed(usual, unheard[number * several : (number + 1) * several]),
                "unknown to it": mixed(usual, [f"{name}-N{number}" for name in usual[:several]]),
            }
            for place, (kind, names) in enumerate(kinds.items()):
                events = world.events(count, day=len(kinds) * number + place + 1, sensors=names)
                seconds = deployed.take_in(events)
                if number:
                    clock.note(kind, seconds)
        status = deployed.deployment.status
    print(f"  {title}, batches of {count:,}: {status.rows_out:,} rows, {status.unknown_entities:,} unknown names")
    for kind in clock.taken:
        ratio = clock.best(kind) / clock.best("without")
        target = "" if kind == "without" else f"   {ratio:5.2f} x{verdict(ratio <= NEWCOMERS, NEWCOMERS)}"
        rate = count / clock.best(kind) / 1e6
        print(f"    {kind:<22} {clock.best(kind) * 1e3:8.1f} ms {rate:7.3f} M/s   {clock.spread(kind)}{target}")


def mixed(usual: Sequence[str], new: Sequence[str]) -> list[str]:
    """New names in the place of some usual ones, evenly among them."""
    step = len(usual) // len(new)
    names = list(usual)
    names[: len(new) * step : step] = new
    return names


PARTS: dict[str, Callable[[World], None]] = {
    "twins": twins,
    "rivals": rivals,
    "ready": ready,
    "newcomers": newcomers,
}


def main(*given: str) -> None:
    sizes = QUICK if "quick" in given else Sizes()
    chosen = [part for part in PARTS if part in given] or list(PARTS)
    print(f"{sizes.buildings} buildings, {sizes.sensors:,} sensors; the minimum of {sizes.rounds}")
    for part in chosen:
        with TemporaryDirectory() as folder:
            PARTS[part](World(Path(folder), sizes))
        print(f"  (load of the machine in the last five minutes: {os.getloadavg()[1]:.1f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
