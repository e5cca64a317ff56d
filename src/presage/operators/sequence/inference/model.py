"""A hidden Markov model as read from its JSON file and checked; README.md beside this file explains the fields.

Plain Python, so that statements can be checked without NumPy; `rows.py` turns a model into arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from presage.errors import did_you_mean, error
from presage.operators.sequence.inference.fields import Fields, StateName, read_json, read_text

UNINFORMATIVE, EVIDENCE = "uninformative", "evidence"
KNOWN = ("states", "initial", "transition", "emission", "observes", "step", "forget")
KNOWN_DISCRETE = ("kind", "table", "absent")
KNOWN_GAUSSIAN = ("kind", "mean", "variance", "absent")
KNOWN_GRAPH = ("edges", "stay", "directed")

# The transitions of one state: (next state, probability > 0), by the number of the next state.
Ways = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Discrete:
    """`table[state][symbol]` is the chance of reading a symbol; what a row lacks to 1 is the chance of no reading."""

    symbols: tuple[str, ...]
    table: tuple[tuple[float, ...], ...]
    absent: str = UNINFORMATIVE

    @property
    def width(self) -> int:
        """How many attributes a reading has."""
        return 1


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution with diagonal covariance for each state: `mean[state][attribute]`, `variance` likewise."""

    mean: tuple[tuple[float, ...], ...]
    variance: tuple[tuple[float, ...], ...]

    @property
    def width(self) -> int:
        return len(self.mean[0])


@dataclass(frozen=True)
class Model:
    """A hidden Markov model. `step` and `forget` are microseconds; None: steps are the times of the readings, and a key
    is never forgotten. `observes` names the attributes of a reading; None: the stream's only one."""

    states: tuple[StateName, ...]
    initial: tuple[float, ...]
    transition: tuple[Ways, ...]
    emission: Discrete | Gaussian
    observes: tuple[str, ...] | None = None
    step: int | None = None
    forget: int | None = None

    @property
    def state_type(self) -> str:
        """The narrowest type of the language that holds the states: STRING, INT, LONG or DOUBLE."""
        if isinstance(self.states[0], str):
            return "STRING"
        if any(isinstance(state, float) for state in self.states):
            return "DOUBLE"
        return "INT" if all(-(2**31) <= state < 2**31 for state in self.states) else "LONG"  # type: ignore[operator]


def load_model(path: str | PathLike[str]) -> Model:
    """The model of a file; an error names the file, the field, what was found and what is expected."""
    return model_of_text(read_text(path), str(path))


def model_of_text(text: str, name: str) -> Model:
    """The model of a file's text; `name` is the file, for errors."""
    return parse_model(read_json(text, name), name)


def parse_model(content: Any, name: str) -> Model:
    """The model of a file's content, as `json.loads` gives it."""
    fields = Fields(name)
    top = fields.table(content, "the model", KNOWN)
    states = fields.states(fields.required(top, "states", "a list of names or of numbers"))
    even = tuple(1 / len(states) for _ in states)
    initial = fields.distribution(top["initial"], "initial") if "initial" in top else even
    transition = _transition(fields, fields.required(top, "transition", "a table, a matrix or a graph"))
    emission = _emission(fields, fields.required(top, "emission", 'a table with "kind"'))
    step = fields.duration(top["step"], "step") if "step" in top else None
    forget = fields.duration(top["forget"], "forget") if "forget" in top else None
    if step is not None and forget is not None and forget < step:
        raise fields.wrong("forget", f"'{top['forget']}'", "at least one step", "leave it out, or make it longer")
    observes = _observes(fields, top["observes"], emission.width) if "observes" in top else None
    return Model(states, initial, transition, emission, observes, step, forget)


def observed(model: Model, attributes: Iterable[str], key: Sequence[str]) -> tuple[str, ...]:
    """The attributes of a reading that the model observes, in the order of its emission.

    `attributes` are those of the stream without its event time. A model that names none observes all that are not key,
    if their number fits its emission.
    """
    names = list(attributes)
    free = [name for name in names if name not in key]
    width = model.emission.width
    if model.observes is None:
        if len(free) == width:
            return tuple(free)
        what = 'what a model without "observes" looks at'
        found = f"one of {_listed(free)}" if free else "nothing, as the readings have only their key"
        expected = f"{width} attribute{'s' if width > 1 else ''} beside key and time"
        fix = 'name them in the model file: "observes": ["…"]' if free else "give the readings an attribute"
        raise error("BAD_VALUE", what=what, found=found, expected=expected, fix=fix)
    for name in model.observes:
        if name in key:
            what = f"the attribute '{name}' that the model observes"
            fix = f"observe {_listed(free)}" if free else "give the readings an attribute"
            raise error(
                "BAD_VALUE", what=what, found="a key of the readings", expected="an attribute that is measured", fix=fix
            )
        if name not in names:
            raise error("UNKNOWN_ATTRIBUTE", owner="the stream of readings", name=name, fix=did_you_mean(name, free))
    return model.observes


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _transition(fields: Fields, given: Any) -> tuple[Ways, ...]:
    if isinstance(given, Mapping) and set(given) == {"graph"} and not fields.is_state("graph"):
        return _graph(fields, given["graph"])
    rows = fields.by_state(given, "transition", "its ways on")
    ways = []
    for place, row in rows:
        chances = fields.distribution(row, place)
        ways.append(tuple((to, p) for to, p in enumerate(chances) if p > 0.0))
    return tuple(ways)


def _graph(fields: Fields, given: Any) -> tuple[Ways, ...]:
    graph = fields.table(given, "transition.graph", KNOWN_GRAPH)
    stay = fields.probability(
        fields.required(graph, "stay", "a probability", "transition.graph"), "transition.graph.stay"
    )
    directed = graph.get("directed", False)
    if not isinstance(directed, bool):
        raise fields.wrong("transition.graph.directed", directed, "true or false")
    listed = fields.required(graph, "edges", 'pairs of states, [["a", "b"], …]', "transition.graph")
    edges = []
    for i, edge in enumerate(fields.sequence(listed, "transition.graph.edges")):
        place = f"transition.graph.edges[{i}]"
        if len(fields.sequence(edge, place)) != 2:
            raise fields.wrong(place, edge, "a pair of states")
        edges.append((fields.state(edge[0], place), fields.state(edge[1], place)))
    return transitions_of(fields.size, edges, stay, directed)


def transitions_of(states: int, edges: Iterable[tuple[int, int]], stay: float, directed: bool) -> tuple[Ways, ...]:
    """Transitions of each state over a graph: stay with a given probability, otherwise move evenly to a neighbour.
    Repeated edges count once, loops are ignored; a state without neighbours stays."""
    neighbours: list[set[int]] = [set() for _ in range(states)]
    for a, b in edges:
        if a != b:
            neighbours[a].add(b)
            if not directed:
                neighbours[b].add(a)
    ways = []
    for state, others in enumerate(neighbours):
        chances = {other: (1.0 - stay) / len(others) for other in others}
        chances[state] = stay if others else 1.0
        ways.append(tuple((other, p) for other, p in sorted(chances.items()) if p > 0.0))
    return tuple(ways)


def _emission(fields: Fields, given: Any) -> Discrete | Gaussian:
    if not isinstance(given, Mapping) or given.get("kind") not in ("discrete", "gaussian"):
        found = given.get("kind", "nothing") if isinstance(given, Mapping) else given
        raise fields.wrong("emission.kind", found, '"discrete" or "gaussian"')
    if given["kind"] == "gaussian":
        table = fields.table(given, "emission", KNOWN_GAUSSIAN)
        if table.get("absent", UNINFORMATIVE) != UNINFORMATIVE:
            fix = "leave the field out: a normal distribution does not say how often a reading is missing"
            raise fields.wrong("emission.absent", table["absent"], f'"{UNINFORMATIVE}"', fix)
        mean = fields.vectors(fields.required(table, "mean", "a number for each state", "emission"), "emission.mean")
        variances = fields.required(table, "variance", "a number for each state", "emission")
        variance = fields.vectors(variances, "emission.variance", len(mean[0]), positive=True)
        return Gaussian(mean, variance)
    table = fields.table(given, "emission", KNOWN_DISCRETE)
    absent = table.get("absent", UNINFORMATIVE)
    if absent not in (UNINFORMATIVE, EVIDENCE):
        raise fields.wrong("emission.absent", absent, f'"{UNINFORMATIVE}" or "{EVIDENCE}"')
    listed = fields.required(table, "table", "for each state the chances of its readings", "emission")
    rows = [
        (place, fields.chances(row, place)) for place, row in fields.by_state(listed, "emission.table", "its readings")
    ]
    symbols = tuple(dict.fromkeys(symbol for _, row in rows for symbol in row))
    if not symbols:
        raise fields.wrong("emission.table", "no reading at all", "at least one reading")
    return Discrete(symbols, tuple(tuple(row.get(symbol, 0.0) for symbol in symbols) for _, row in rows), absent)


def _observes(fields: Fields, given: Any, width: int) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else fields.sequence(given, "observes")
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise fields.wrong("observes", given, "names of attributes, each once")
    if len(names) != width:
        expected = f"{width} attribute{'s' if width > 1 else ''}, as the emission has"
        raise fields.wrong("observes", _listed(names) or "no attribute", expected)
    return tuple(names)
