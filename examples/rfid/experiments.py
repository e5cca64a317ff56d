"""Readings in, the figures of the study out: quality by threshold and tolerance, pruning, speed, seconds in a room."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from building import Building
from multinomial import multinomial_rows
from quality import Score, score
from queries import Answers, QueryEngine
from simulator import BEGIN, SECOND, Traces, traced

from presage.operators.sequence.inference.model import Model, parse_model
from presage.operators.sequence.inference.rows import filtered, most_likely, sampled, smoothed
from presage.operators.sequence.kernel.hidden_markov.spec import PROBABILITY, TIME, Columns

COLUMNS = Columns(("person",), ("antenna",), "location")
PARTICLES = 200
THRESHOLDS = tuple(i * 0.05 for i in range(11))
TOLERANCES = (5, 10, 15, 20, 30, 45, 60)
TOLERANCE = 30
PRUNES = (0.0, 0.003, 0.01, 0.03, 0.1)
SUBGOALS = range(1, 9)
ROUNDS = 2
CAME_IN = "NOT CoffeeRoom(l1) AND NOT CoffeeRoom(l2) AND CoffeeRoom(l3)"


@dataclass(frozen=True)
class Method:
    """How the coffee question is asked: of which stream, and whether only of its most likely world."""

    name: str
    stream: str
    by: str = ""


METHODS = {
    method.name: method
    for method in (
        Method("filtered", "Filtered"),
        Method("MLE", "Filtered", "BY MLE"),
        Method("particles", "Particles"),
        Method("particles, MLE", "Particles", "BY MLE"),
        Method("multinomial", "Multinomial"),
        Method("multinomial, MLE", "Multinomial", "BY MLE"),
        Method("smoothed, Markov", "Smoothed"),
        Method("smoothed, independent", "Marginals"),
        Method("MAP", "Smoothed", "BY MAP"),
    )
}
# MAP says the same, and finds the path in the tables itself: this one is made beforehand.
PATH = Method("path", "Path")


def model_of(building: Building) -> Model:
    return parse_model(building.model(), "floor.json")


def infer(model: Model, traces: Traces, streams: Sequence[str]) -> dict[str, pa.Table]:
    readings = traces.readings
    made = {
        "Filtered": lambda: filtered(model, readings, COLUMNS).rows,
        "Particles": lambda: sampled(model, readings, COLUMNS, PARTICLES).rows,
        "Multinomial": lambda: multinomial_rows(model, traces, PARTICLES),
        "Marginals": lambda: _at_most_one(smoothed(model, readings, COLUMNS, marginals=True).rows),
        "Smoothed": lambda: smoothed(model, readings, COLUMNS).rows,
        "Path": lambda: most_likely(model, readings, COLUMNS).rows,
    }
    return {name: made[name]() for name in streams}


def _at_most_one(rows: pa.Table) -> pa.Table:
    """A certain place may have 1 + 1e-15 by rounding, which is no probability."""
    place = rows.column_names.index(PROBABILITY)
    return rows.set_column(place, PROBABILITY, pa.array(np.minimum(rows[PROBABILITY].to_numpy(), 1.0)))


def coffee(engine: QueryEngine, method: Method) -> Answers:
    """Outside the coffee rooms for two seconds, then inside one."""
    stream = method.stream
    return engine.ask("p", f"{stream}(p, l1) ; {stream}(p, l2) ; {stream}(p, l3)", CAME_IN, method.by)


# -- quality --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quality:
    """The answers of one method, against what happened."""

    method: Method
    answers: Answers
    truth: Mapping[str, Sequence[int]]
    known: dict[tuple[float, int, bool], Score] = field(default_factory=dict)  # each is asked for many times

    def score(self, threshold: float, tolerance: int = TOLERANCE, single: bool = True) -> Score:
        asked = (0.0 if self.method.by else threshold, tolerance, single)
        if asked not in self.known:
            self.known[asked] = score(self.answers, self.truth, *asked)
        return self.known[asked]

    def best(self, single: bool = True) -> float:
        """The threshold with the highest F1."""
        return max(THRESHOLDS, key=lambda threshold: self.score(threshold, single=single).f1)


def quality(building: Building, traces: Traces, names: Sequence[str] = tuple(METHODS)) -> dict[str, Quality]:
    methods = [METHODS[name] for name in names]
    streams = infer(model_of(building), traces, sorted({method.stream for method in methods}))
    with (
        tempfile.TemporaryDirectory() as folder,
        QueryEngine(Path(folder), building, streams, traces.seconds) as engine,
    ):
        return {method.name: Quality(method, coffee(engine, method), traces.coffees) for method in methods}


# -- why filtered answers are low or false ------------------------------------------------------------------------

STEADIEST, LEAST, MOST_STEADY = 0.05, 0.02, 4 / 27  # the last is the highest of (1 - p)² p


@dataclass(frozen=True)
class Churn:
    """False rows of the filtered stream from LEAST to MOST_STEADY, and how many have a belief that moved by less than
    STEADIEST in the three seconds. `rises`: the greatest step of belief within one second, by coffee."""

    false: int
    steady: int
    highest: float
    rises: np.ndarray


def churn(building: Building, traces: Traces) -> Churn:
    rows = filtered(model_of(building), traces.readings, COLUMNS).rows
    inside = rows.filter(pc.is_in(rows["location"], pa.array(building.of_kind("coffee"))))
    number = {person: i for i, person in enumerate(traces.people)}
    belief = np.zeros((len(number), traces.seconds))
    second = (inside[TIME].to_numpy() - BEGIN) // SECOND
    np.add.at(belief, ([number[p] for p in inside["person"].to_pylist()], second), inside[PROBABILITY].to_numpy())
    false = steady = 0
    highest, rises = 0.0, []
    for person, events in traces.coffees.items():
        mine = belief[number[person]]
        seconds = np.lib.stride_tricks.sliding_window_view(mine, 3)
        chances = (1.0 - seconds[:, 0]) * (1.0 - seconds[:, 1]) * seconds[:, 2]
        apart = np.array([all(abs(t + 2 - event) > TOLERANCE for event in events) for t in range(len(chances))])
        wrong = apart & (chances > LEAST) & (chances <= MOST_STEADY)
        false, steady = false + int(wrong.sum()), steady + int((np.ptp(seconds[wrong], axis=1) < STEADIEST).sum())
        highest = max(highest, float(chances.max()))
        rises += [np.diff(mine[event - 2 : event + TOLERANCE]).max() for event in events]
    return Churn(false, steady, highest, np.array(rises))


# -- pruning --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pruned:
    """`off`: how far the answers are from those of the whole tables, at most."""

    prune: float
    rows: int
    megabytes: float
    quality: Quality
    off: float


def pruning(building: Building, traces: Traces, prunes: Sequence[float] = PRUNES) -> list[Pruned]:
    model = model_of(building)
    made: list[Pruned] = []
    for prune in prunes:
        rows = smoothed(model, traces.readings, COLUMNS, prune=prune).rows
        with tempfile.TemporaryDirectory() as folder:
            with QueryEngine(Path(folder), building, {"Smoothed": rows}, traces.seconds) as engine:
                found = Quality(
                    METHODS["smoothed, Markov"], coffee(engine, METHODS["smoothed, Markov"]), traces.coffees
                )
            size = sum(file.stat().st_size for file in Path(folder).rglob("*.parquet")) / 1e6
        off = _difference(made[0].quality.answers, found.answers) if made else 0.0
        made.append(Pruned(prune, rows.num_rows, size, found, off))
    return made


def _difference(a: Answers, b: Answers) -> float:
    chances: dict[tuple[str, int], list[float]] = {}
    for number, answers in enumerate((a, b)):
        for person, second, chance in zip(answers.person, answers.second, answers.probability, strict=True):
            chances.setdefault((person, int(second)), [0.0, 0.0])[number] = chance
    return max(abs(one - other) for one, other in chances.values())


# -- speed ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Speed:
    question: str
    method: str
    people: int
    seconds: int
    rows: int
    took: float

    @property
    def objects(self) -> float:
        """Effective objects a second: people times seconds of the trace, by the time that it took."""
        return self.people * self.seconds / self.took


def speed(building: Building, traces: Traces, rounds: int = ROUNDS) -> list[Speed]:
    """The question of one person by name, who has a home alone, and of anyone. The minimum of the rounds."""
    model = model_of(building)
    methods = [*(METHODS[name] for name in ("filtered", "MLE", "smoothed, Markov", "MAP")), PATH]
    one = some_of(traces, 1)
    person = one.people[0]
    questions = (
        ("regular", one, f"'{person}'"),
        ("extended regular", traces, "p"),
    )
    found = []
    for question, whose, term in questions:
        streams = infer(model, whose, ("Filtered", "Smoothed", "Path"))
        with (
            tempfile.TemporaryDirectory() as folder,
            QueryEngine(Path(folder), building, streams, whose.seconds) as engine,
        ):
            best = dict.fromkeys(methods, np.inf)
            for _ in range(rounds):
                for method in methods:
                    goals = " ; ".join(f"{method.stream}({term}, l{i})" for i in (1, 2, 3))
                    best[method] = min(best[method], engine.ask("*", goals, CAME_IN, method.by).took)
        for method, took in best.items():
            rows = streams[method.stream].num_rows
            found.append(Speed(question, method.name, len(whose.people), whose.seconds, rows, float(took)))
    return found


def some_of(traces: Traces, people: int) -> Traces:
    kept = traces.people[:people]
    mask = pa.array(np.isin(traces.readings["person"].to_numpy(zero_copy_only=False), kept))
    return Traces(
        {p: traces.truth[p] for p in kept}, traces.readings.filter(mask), {p: traces.coffees[p] for p in kept}
    )


# -- seconds in a room ----------------------------------------------------------------------------------------

ROOM, APPROACH, VISIT = "r15s", 20, 40
IN_ROOM = ("smoothed, Markov", "smoothed, independent", "filtered", "MAP")


@dataclass(frozen=True)
class InRoom:
    """By method and k: the probability at each second that the last k seconds were spent in the room. The visit lasts
    from `first` to before `last`."""

    first: int
    last: int
    chances: dict[str, dict[int, np.ndarray]]

    def peak(self, name: str, k: int) -> float:
        """The highest during the visit."""
        return float(self.chances[name][k][self.first : self.last].max())


def in_room(building: Building, seed: int, ks: Sequence[int] = SUBGOALS) -> InRoom:
    """Someone walks down the hall, enters a room, stays and walks back; opposite lies a coffee room."""
    way = building.route("r11n", ROOM)
    walk = [place for place in way[:-1] for _ in range(2)]
    places = ["r11n"] * APPROACH + walk + [ROOM] * VISIT + walk[::-1] + ["r11n"] * APPROACH
    first = APPROACH + len(walk)
    traces = traced(building, {"p": places}, seed)
    methods = [METHODS[name] for name in IN_ROOM]
    streams = infer(model_of(building), traces, sorted({method.stream for method in methods}))
    chances: dict[str, dict[int, np.ndarray]] = {name: {} for name in IN_ROOM}
    with (
        tempfile.TemporaryDirectory() as folder,
        QueryEngine(Path(folder), building, streams, traces.seconds) as engine,
    ):
        for method in methods:
            for k in ks:
                goals = " ; ".join(f"{method.stream}(p, l{i})" for i in range(1, k + 1))
                where = " AND ".join(f"l{i} = '{ROOM}'" for i in range(1, k + 1))
                answers = engine.ask("p", goals, where, method.by)
                curve = np.zeros(len(places))
                curve[answers.second] = answers.probability
                chances[method.name][k] = curve
    return InRoom(first, first + VISIT, chances)


@dataclass(frozen=True)
class Subgoals:
    """Seconds for a question of so many subgoals, by method."""

    seconds: int
    people: int
    took: dict[str, dict[int, float]]


def subgoals(building: Building, traces: Traces, ks: Sequence[int] = SUBGOALS) -> Subgoals:
    """k - 1 seconds outside the coffee rooms, then inside one."""
    streams = infer(model_of(building), traces, ("Filtered", "Smoothed"))
    names = ("filtered", "smoothed, Markov")
    took: dict[str, dict[int, float]] = {name: {} for name in names}
    with (
        tempfile.TemporaryDirectory() as folder,
        QueryEngine(Path(folder), building, streams, traces.seconds) as engine,
    ):
        for name in names:
            for k in (ks[0], *ks):  # the first of them to warm up
                goals = " ; ".join(f"{METHODS[name].stream}(p, l{i})" for i in range(1, k + 1))
                where = " AND ".join([*(f"NOT CoffeeRoom(l{i})" for i in range(1, k)), f"CoffeeRoom(l{k})"])
                took[name][k] = engine.ask("*", goals, where).took
    return Subgoals(traces.seconds, len(traces.people), took)
