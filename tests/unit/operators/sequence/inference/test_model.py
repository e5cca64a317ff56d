"""Model files: what is read, and what a wrong one is told."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.operators.sequence.inference.model import Discrete, Gaussian, load_model, observed, parse_model

FLOOR: dict[str, Any] = {
    "states": ["h1", "h2", "o2"],
    "initial": {"h1": 0.5, "o2": 0.5},
    "transition": {"h1": {"h1": 0.5, "h2": 0.5}, "h2": {"h2": 1.0}, "o2": {"h2": 0.25, "o2": 0.75}},
    "emission": {
        "kind": "discrete",
        "table": {"h1": {"a1": 0.7}, "h2": {"a1": 0.2, "a2": 0.6}, "o2": {}},
        "absent": "evidence",
    },
    "observes": ["antenna"],
    "step": "1 sec",
    "forget": "1 min",
}
NORMAL: dict[str, Any] = {
    "states": [1, 2],
    "transition": [[0.9, 0.1], [0.2, 0.8]],
    "emission": {"kind": "gaussian", "mean": {"1": [0, 1.5], "2": [2, 3]}, "variance": {"1": [1, 1], "2": [4, 0.5]}},
}


def changed(path: str, value: Any, base: dict[str, Any] = FLOOR) -> dict[str, Any]:
    """The model with one field set; `...` removes it."""
    content = copy.deepcopy(base)
    *outer, last = path.split(".")
    place = content
    for name in outer:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content


def refusal(content: Any) -> PresageError:
    with pytest.raises(PresageError) as caught:
        parse_model(content, "floor.json")
    return caught.value


def test_a_file_becomes_a_model(tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    file.write_text(json.dumps(FLOOR))
    model = load_model(file)
    assert model.states == ("h1", "h2", "o2")
    assert model.initial == (0.5, 0.0, 0.5)
    assert model.transition == (((0, 0.5), (1, 0.5)), ((1, 1.0),), ((1, 0.25), (2, 0.75)))
    assert model.emission == Discrete(("a1", "a2"), ((0.7, 0.0), (0.2, 0.6), (0.0, 0.0)), "evidence")
    assert (model.observes, model.step, model.forget) == (("antenna",), 1_000_000, 60_000_000)
    assert model.state_type == "STRING"


def test_states_may_be_numbers_and_a_matrix_stands_in_their_order() -> None:
    model = parse_model(NORMAL, "n.json")
    assert model.states == (1, 2)
    assert model.initial == (0.5, 0.5)
    assert model.transition == (((0, 0.9), (1, 0.1)), ((0, 0.2), (1, 0.8)))
    assert model.emission == Gaussian(((0.0, 1.5), (2.0, 3.0)), ((1.0, 1.0), (4.0, 0.5)))
    assert (model.observes, model.step, model.forget) == (None, None, None)


@pytest.mark.parametrize(
    ("states", "expected"), [([1, 2], "INT"), ([1, 2**40], "LONG"), ([1, 2.5], "DOUBLE"), (["a", "b"], "STRING")]
)
def test_the_states_have_the_narrowest_type_that_holds_them(states: list[Any], expected: str) -> None:
    emission = {"kind": "gaussian", "mean": [0, 1], "variance": [1, 1]}
    model = parse_model({"states": states, "transition": [[1, 0], [0, 1]], "emission": emission}, "n.json")
    assert model.state_type == expected
    assert len({type(state) for state in model.states}) == 1


def test_a_graph_becomes_transitions() -> None:
    graph = {"graph": {"edges": [["h1", "h2"], ["h2", "o2"]], "stay": 0.6}}
    model = parse_model(changed("transition", graph), "floor.json")
    assert dict(model.transition[1]) == pytest.approx({0: 0.2, 1: 0.6, 2: 0.2})
    graph["graph"]["directed"] = True
    assert parse_model(changed("transition", graph), "floor.json").transition[2] == ((2, 1.0),)


def test_a_sum_may_miss_1_by_rounding_alone() -> None:
    assert parse_model(changed("initial", [0.5, 0.25, 0.25 + 5e-10]), "floor.json")
    assert "sums to 1.000000002" in refusal(changed("initial", [0.5, 0.25, 0.25 + 2e-9])).message


WRONG: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("BAD_VALUE", changed("states", ...), ("'states'", "missing")),
    ("BAD_VALUE", changed("states", []), ("0 states",)),
    ("BAD_VALUE", changed("states", ["a", "a"]), ("'a' twice",)),
    ("BAD_VALUE", changed("states", ["a", 1]), ("and not both",)),
    ("BAD_VALUE", changed("states", [1, float("nan")]), ("finite",)),
    ("BAD_VALUE", changed("states", [True, False]), ("names, or finite numbers",)),
    ("BAD_VALUE", changed("initial", {"h1": 0.5, "h3": 0.5}), ("'initial'", "'h3'", "no state")),
    ("BAD_VALUE", changed("initial", {"h1": -0.5, "h2": 1.5}), ("'initial.h1'", "-0.5", "between 0 and 1")),
    ("BAD_VALUE", changed("initial", {"h1": "0.5"}), ("'initial.h1'", "0.5")),
    ("BAD_VALUE", changed("initial", [1.0]), ("a list of 1", "3 states")),
    ("BAD_VALUE", changed("initial", 3), ("'initial'", "is 3")),
    ("BAD_VALUE", changed("transition", ...), ("'transition'", "missing")),
    ("BAD_VALUE", changed("transition.h2", ...), ("without state 'h2'",)),
    ("BAD_VALUE", changed("transition.h1", {"h1": 0.5}), ("'transition.h1'", "sums to 0.5", "sums to 1")),
    ("BAD_VALUE", changed("transition", [[1, 0, 0], [1, 0, 0]]), ("a list of 2",)),
    ("BAD_VALUE", changed("transition", {"graph": {"edges": []}}), ("'transition.graph.stay'", "missing")),
    ("BAD_VALUE", changed("transition", {"graph": {"stay": 1}}), ("'transition.graph.edges'", "missing")),
    (
        "BAD_VALUE",
        changed("transition", {"graph": {"edges": [["h1", "h9"]], "stay": 1}}),
        ("edges[0]", "'h9', which is no state"),
    ),
    ("BAD_VALUE", changed("transition", {"graph": {"edges": [["h1"]], "stay": 1}}), ("edges[0]", "a pair")),
    ("BAD_VALUE", changed("transition", {"graph": {"edges": [], "stay": 1.1}}), ("stay", "1.1")),
    ("BAD_VALUE", changed("transition", {"graph": {"edges": [], "stay": 1, "directed": 1}}), ("directed",)),
    ("UNKNOWN_OPTION", changed("transition", {"graph": {"edges": [], "stay": 1, "way": 1}}), ("'way'",)),
    ("BAD_VALUE", changed("emission", ...), ("'emission'", "missing")),
    ("BAD_VALUE", changed("emission.kind", "poisson"), ("poisson", '"discrete" or "gaussian"')),
    ("BAD_VALUE", changed("emission.table.h2", {"a1": 0.7, "a2": 0.7}), ("sums to 1.4", "at most 1")),
    ("BAD_VALUE", changed("emission.table.h2", ...), ("without state 'h2'",)),
    ("BAD_VALUE", changed("emission.table", {"h1": {}, "h2": {}, "o2": {}}), ("no reading",)),
    ("BAD_VALUE", changed("emission.absent", "no"), ("'emission.absent'",)),
    ("UNKNOWN_OPTION", changed("emission.tabel", {}), ("'tabel'", "floor.json")),
    ("BAD_VALUE", changed("emission.variance.1", [0, 1], NORMAL), ("'emission.variance.1'", "above 0")),
    ("BAD_VALUE", changed("emission.mean.2", [1], NORMAL), ("1 numbers", "2, one for each attribute")),
    ("BAD_VALUE", changed("emission.variance.2", 1, NORMAL), ("1 numbers",)),
    ("BAD_VALUE", changed("emission.mean.2", [1, "x"], NORMAL), ("finite number",)),
    ("BAD_VALUE", changed("emission.absent", "evidence", NORMAL), ("'emission.absent'",)),
    ("BAD_VALUE", changed("observes", ["x"], NORMAL), ("'x'", "2 attributes")),
    ("BAD_VALUE", changed("observes", ["x", "x"], NORMAL), ("each once",)),
    ("BAD_VALUE", changed("step", "1 parsec"), ("'step'", "1 parsec", "a duration")),
    ("BAD_VALUE", changed("step", 5), ("'step'", "is 5")),
    ("BAD_VALUE", changed("forget", "500 msec"), ("'forget'", "at least one step")),
    ("UNKNOWN_OPTION", changed("transitions", {}), ("'transitions'",)),
]


@pytest.mark.parametrize(("code", "content", "parts"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_a_wrong_field_is_named_with_what_it_is_and_must_be(
    code: str, content: dict[str, Any], parts: tuple[str, ...]
) -> None:
    problem = refusal(content)
    assert problem.code == code
    assert problem.fix
    assert all(part in problem.message for part in (*parts, "floor.json")), problem.message


def test_the_nearest_name_is_offered() -> None:
    assert "'transition'" in refusal(changed("transitions", {})).fix
    assert "'h1'" in refusal(changed("initial", {"h11": 1.0})).fix


def test_what_is_not_a_model_is_refused() -> None:
    assert "an object" in refusal([1, 2]).message


@pytest.mark.parametrize(
    ("content", "code", "part"),
    [
        (b'{"states": [', "FILE_UNREADABLE", "line 1, column"),
        (b'{"states": ["a"], "states": ["b"]}', "DUPLICATE_NAME", "'states'"),
        (b"\xff\xfe", "FILE_UNREADABLE", "UTF-8"),
        (b"[" * 100_000, "FILE_UNREADABLE", "nested"),
    ],
)
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, content: bytes, code: str, part: str) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    with pytest.raises(PresageError, match=part) as caught:
        load_model(file)
    assert caught.value.code == code
    assert "bad.json" in caught.value.message


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PresageError) as missing:
        load_model(tmp_path / "none.json")
    assert missing.value.code == "FILE_NOT_FOUND"
    with pytest.raises(PresageError) as folder:
        load_model(tmp_path)
    assert folder.value.code == "FILE_UNREADABLE"


def test_a_model_observes_what_it_names_else_all_that_is_not_key() -> None:
    floor, normal = parse_model(FLOOR, "floor.json"), parse_model(NORMAL, "n.json")
    assert observed(floor, ["tag", "antenna", "power"], ["tag"]) == ("antenna",)
    assert observed(normal, ["tag", "x", "y"], ["tag"]) == ("x", "y")


@pytest.mark.parametrize(
    ("content", "attributes", "code", "part"),
    [
        (NORMAL, ["tag", "x"], "BAD_VALUE", "2 attributes"),
        (NORMAL, ["tag"], "BAD_VALUE", "only their key"),
        (FLOOR, ["tag", "antena"], "UNKNOWN_ATTRIBUTE", "antenna"),
        (changed("observes", ["tag"]), ["tag", "antenna"], "BAD_VALUE", "'tag'"),
    ],
)
def test_readings_that_do_not_have_what_is_observed_are_refused(
    content: dict[str, Any], attributes: list[str], code: str, part: str
) -> None:
    with pytest.raises(PresageError) as caught:
        observed(parse_model(content, "m.json"), attributes, ["tag"])
    assert caught.value.code == code
    assert part in caught.value.message
    assert caught.value.fix
