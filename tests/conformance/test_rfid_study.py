"""The study of examples/rfid with few people: its orderings hold, and its parts agree with each other. No Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

RFID = Path(__file__).parents[2] / "examples" / "rfid"
NAMES = ("queries", "building", "experiments", "multinomial", "pictures", "quality", "simulator", "study")
SEED, PEOPLE, SECONDS = 1, 8, 600


class Study(NamedTuple):
    modules: dict[str, ModuleType]
    building: Any
    traces: Any
    quality: dict[str, Any]


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The modules of the example, which import each other by their bare names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RFID))
        yield {name: __import__(name) for name in NAMES}
        for name in NAMES:
            del sys.modules[name]


@pytest.fixture(scope="module")
def study(modules: dict[str, ModuleType]) -> Study:
    building = modules["building"].two_floors()
    traces = modules["simulator"].simulate(building, PEOPLE, SECONDS, SEED)
    names = modules["study"].REAL_TIME + modules["study"].ARCHIVED
    return Study(modules, building, traces, modules["experiments"].quality(building, traces, names))


def best_f1(study: Study, name: str, single: bool = True) -> float:
    one = study.quality[name]
    return float(one.score(one.best(single), single=single).f1)


def test_the_same_seed_makes_the_same_people_and_readings(study: Study) -> None:
    again = study.modules["simulator"].simulate(study.building, PEOPLE, SECONDS, SEED)
    assert again.truth == study.traces.truth
    assert again.readings.equals(study.traces.readings)


def test_people_walk_through_doors_alone(study: Study) -> None:
    for places in study.traces.truth.values():
        steps = {(a, b) for a, b in pairwise(places) if a != b}
        assert all(b in study.building.ways[a] for a, b in steps)


def test_antennas_read_between_60_and_70_percent_of_the_tags_in_range(study: Study) -> None:
    halls = set(study.building.of_kind("hall"))
    begin, second = study.modules["simulator"].BEGIN, study.modules["simulator"].SECOND
    inside = read = 0
    heard = {(r["person"], (r["_t"] - begin) // second, r["antenna"]) for r in study.traces.readings.to_pylist()}
    for person, places in study.traces.truth.items():
        for t, place in enumerate(places):
            if place in halls:
                own = max(study.building.read[place], key=study.building.read[place].get)
                inside, read = inside + 1, read + ((person, t, own) in heard)
    assert inside > 200
    assert 0.55 < read / inside < 0.75


def test_smoothed_markov_finds_more_than_the_most_likely_path(study: Study) -> None:
    assert best_f1(study, "smoothed, Markov") >= best_f1(study, "MAP")


def test_filtered_is_about_as_good_as_the_most_likely_place(study: Study) -> None:
    assert best_f1(study, "filtered") >= best_f1(study, "MLE") - 0.05
    assert best_f1(study, "filtered", single=False) >= best_f1(study, "MLE", single=False) - 0.02


def test_most_false_rows_of_filtered_streams_come_from_beliefs_that_do_not_move(study: Study) -> None:
    found = study.modules["experiments"].churn(study.building, study.traces)
    assert found.steady > 0.8 * found.false > 100
    # Here the answers are computed by hand, and agree with those of the query.
    assert found.highest == pytest.approx(study.quality["filtered"].answers.probability.max(), abs=1e-12)


def test_particles_answer_about_as_the_filter_that_they_estimate(study: Study) -> None:
    chances: dict[tuple[str, int], dict[str, float]] = {}
    for name in ("filtered", "particles"):
        answers = study.quality[name].answers
        for person, second, chance in zip(answers.person, answers.second, answers.probability, strict=True):
            chances.setdefault((person, int(second)), {})[name] = chance
    apart = [abs(both.get("filtered", 0.0) - both.get("particles", 0.0)) for both in chances.values()]
    assert len(apart) > 1000
    assert 0.0 < float(np.mean(apart)) < 0.03


def test_multinomial_resampling_makes_the_most_likely_place_hop(study: Study) -> None:
    found = {name: study.quality[f"{name}, MLE"].score(0.0) for name in ("particles", "multinomial")}
    assert found["multinomial"].found > 1.15 * found["particles"].found
    assert found["multinomial"].precision < found["particles"].precision


def test_probabilities_are_more_precise_than_the_most_likely_place_of_the_same_particles(study: Study) -> None:
    for name in ("particles", "multinomial"):
        likely = study.quality[f"{name}, MLE"].score(0.0)
        assert study.quality[name].score(0.3).precision > likely.precision


def test_what_came_later_helps(study: Study) -> None:
    assert best_f1(study, "smoothed, Markov") > best_f1(study, "filtered") + 0.05


def test_recall_of_rows_falls_with_the_threshold(study: Study) -> None:
    for name in ("filtered", "smoothed, Markov", "smoothed, independent"):
        recalls = [study.quality[name].score(t, single=False).recall for t in study.modules["experiments"].THRESHOLDS]
        assert recalls == sorted(recalls, reverse=True)


def test_the_most_likely_path_by_the_query_is_that_of_viterbi(study: Study) -> None:
    from presage.operators.sequence.inference.rows import most_likely

    experiments, simulator = study.modules["experiments"], study.modules["simulator"]
    rows = most_likely(experiments.model_of(study.building), study.traces.readings, experiments.COLUMNS).rows
    coffee = set(study.building.of_kind("coffee"))
    by_path: set[tuple[str, int]] = set()
    for person in study.traces.people:
        mine = rows.filter(np.array(rows["person"].to_pylist()) == person)
        by_path |= {(person, t) for t in simulator.entrances(mine["location"].to_pylist(), coffee)}
    answers = study.quality["MAP"].answers
    assert {(p, int(t)) for p, t in zip(answers.person, answers.second, strict=True)} == by_path
    assert by_path


def test_pruned_tables_are_smaller_and_about_as_good(study: Study) -> None:
    experiments = study.modules["experiments"]
    few = experiments.some_of(study.traces, 4)
    whole, pruned = experiments.pruning(study.building, few, (0.0, 0.03))
    assert pruned.rows < whole.rows / 2
    assert pruned.megabytes < whole.megabytes / 2
    assert 0.0 < pruned.off < 0.3
    best = whole.quality.best()
    assert pruned.quality.score(best).f1 >= whole.quality.score(best).f1 - 0.1


def test_only_correlations_know_who_stays_in_a_room(study: Study) -> None:
    room = study.modules["experiments"].in_room(study.building, SEED, (1, 3, 8))
    markov, independent = (room.chances[name] for name in ("smoothed, Markov", "smoothed, independent"))
    # For one second both say the same, for more the independent one takes powers of it.
    assert markov[1] == pytest.approx(independent[1], abs=1e-9)
    assert room.peak("smoothed, Markov", 8) > 0.9 * room.peak("smoothed, Markov", 1)
    assert room.peak("smoothed, independent", 3) == pytest.approx(room.peak("smoothed, independent", 1) ** 3, rel=0.05)
    assert room.peak("MAP", 1) == 0.0


def test_each_event_counts_for_one_detection_and_each_run_of_seconds_is_one(modules: dict[str, ModuleType]) -> None:
    seconds = np.array([10, 11, 12, 30, 100])
    chances = np.array([0.2, 0.9, 0.3, 0.4, 0.5])
    answers = modules["queries"].Answers(np.array(["p"] * 5), seconds, chances, 0.0)
    score = modules["quality"].score
    assert score(answers, {"p": [13, 200]}, 0.0, 30) == modules["quality"].Score(found=3, right=1, events=2, hit=1)
    assert score(answers, {"p": [13, 200]}, 0.0, 30, single=False) == modules["quality"].Score(5, 4, 2, 1)
    # The run's likeliest second decides whether it is near enough.
    assert score(answers, {"p": [9]}, 0.25, 1).right == 0
    assert score(answers, {"p": [9]}, 0.25, 2).right == 1


def test_the_pictures_are_made_of_the_figures(
    modules: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules["study"].main(["--quick", "--people", "2", "--minutes", "3", "--pictures", str(tmp_path)])
    assert capsys.readouterr().out.startswith("2 people, 3 min, ")
    for name in ("rfid-real-time.svg", "rfid-archived.svg", "rfid-room.svg"):
        assert (tmp_path / name).read_text().count("<polyline") >= 8
