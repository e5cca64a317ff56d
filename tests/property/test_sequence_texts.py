"""Random cases of sequence queries: all shapes are among them, and the reference says of them what must be true."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings

from presage.lang import parse
from property.sequence_shapes import AIMS
from property.sequence_texts import Case, case_of, cases, query_text, smallest
from reference.possible_worlds import answers_in, chains_of, number_of_worlds, worlds
from reference.sequence_classes import shared_variables
from reference.sequence_run import run
from reference.sequence_semantics import Anything, Constant, Query, Variable, holds

# Each case is a database of its own: fewer of them say as much.
few = settings(max_examples=settings.default.max_examples // 2)
CLASSES = ("regular", "extended regular", "safe", "unsafe")


def shapes(case: Case) -> set[str]:
    """Words for what is special about a case."""
    query, found = case.query, {f"{len(case.query.parts)} parts", f"{len(case.query.selected)} selected"}
    kinds = {stream.kind for stream in case.streams.values()}
    found |= kinds | ({"mixed"} if len(kinds) > 1 else set()) | {f"{len(case.streams)} streams"}
    for place, part in enumerate(query.parts):
        found |= {type(term).__name__ for term in part.terms}
        if len(part.variables) < sum(isinstance(term, Variable) for term in part.terms):
            found.add("a variable twice")
        if not case.streams[part.stream].key and part.variables & (shared_variables(query) | set(query.selected)):
            found.add("no key, shared or selected")
        if part.condition is not None:
            found.add("filter")
        if part.plus is not None:
            found.add("plus first" if place == 0 else "plus last" if place == len(query.parts) - 1 else "plus inside")
            found.add("plus shares" if part.plus.shared else "plus alone")
            found.add("plus asks" if part.plus.condition is not None else "plus asks nothing")
            if len(query.parts[:place]) and (part.variables - part.visible) & Query(query.parts[:place]).visible:
                found.add("plus hides what the prefix has")
    text = query_text(query)
    found |= {word for word in (" OR ", " IN ", "NOT ", "Hall(", "Office(", "Big(", " WHERE ") if word in text}
    steps, chains = case.chains()
    found.add(f"{len(steps)} steps")
    for chain in chains:
        stream = chain.stream
        found |= {f"{len(stream.key)} keys", f"{len(stream.uncertain)} uncertain"}
        there = [bool(rows) for rows in chain.rows]
        found |= {"absent"} if True in there and False in there[there.index(True) :] else set()
        late = [row for rows in chain.rows[there.index(True) + 1 :] for row in rows]
        if stream.kind == "markov" and any(row.before is None for row in late):
            found.add("after no event")
        if stream.kind == "certain" and any(len(rows) > 1 for rows in chain.rows):
            found.add("several certain events")
    return found


def test_every_class_and_every_shape_is_common() -> None:
    classes, seen, telling = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(200):
        case = case_of(seed, most_worlds=60)
        classes[case.class_by_definition] += 1
        seen.update(shapes(case))
        if any(1e-9 < probability < 1 - 1e-9 for probability in case.answers().values()):
            telling[case.class_by_definition] += 1
    assert {name: classes[name] >= 25 for name in CLASSES} == dict.fromkeys(CLASSES, True)
    assert {name: telling[name] >= 12 for name in CLASSES} == dict.fromkeys(CLASSES, True)
    expected = {"certain", "independent", "markov", "mixed", "Variable", "Constant", "Anything", "filter"}
    expected |= {f"plus {what}" for what in ("first", "inside", "last", "shares", "alone", "asks", "asks nothing")}
    expected |= {f"{n} {what}" for what in ("parts", "steps") for n in (1, 2, 3, 4)}
    expected |= {f"{n} {what}" for what in ("selected", "uncertain", "keys") for n in (0, 1, 2)}
    expected |= {f"{n} streams" for n in (1, 2, 3)} | {" OR ", " IN ", "NOT ", "Hall(", "Office(", "Big(", " WHERE "}
    expected |= {"plus hides what the prefix has", "absent", "after no event", "several certain events"}
    expected |= {"a variable twice", "no key, shared or selected"}
    assert {shape: seen[shape] for shape in expected if seen[shape] < 3} == {}


def test_a_case_is_of_the_class_that_was_asked_for() -> None:
    assert set(CLASSES) < set(AIMS)
    for kind in CLASSES:
        assert {case_of(seed, kind).class_by_definition for seed in range(10)} == {kind}


def test_the_same_number_gives_the_same_case() -> None:
    assert repr(case_of(11)) == repr(case_of(11)) != repr(case_of(12))


def test_texts_are_of_the_language() -> None:
    for seed in range(100):
        case = case_of(seed, most_worlds=20)
        assert len(parse(case.declarations).statements) == len(case.catalog) + len(case.relations)
        assert len(parse(case.statement).statements) == 1


@few
@given(cases(most_worlds=100))
def test_answers_are_probabilities(case: Case) -> None:
    steps, chains = case.chains()
    assert number_of_worlds(chains) <= 100
    for (values, step), probability in case.answers().items():
        assert 0 < probability <= 1 + 1e-9
        assert len(values) == len(case.query.selected)
        assert step in steps


@few
@given(cases(most_worlds=40))
def test_a_machine_that_reads_step_by_step_finds_what_the_definitions_say(case: Case) -> None:
    for _, world in worlds(*case.chains()):
        assert run(case.query, world) == holds(case.query, world)


@few
@given(cases(most_worlds=100))
def test_for_some_value_lies_between_the_likeliest_value_and_the_sum_of_all(case: Case) -> None:
    each = case.answers()
    some = replace(case, query=replace(case.query, selected=())).answers()
    steps = {step for _, step in each}
    assert {step for _, step in some} == steps
    for step in steps:
        parts = [probability for (_, own), probability in each.items() if own == step]
        assert max(parts) - 1e-9 <= some[(), step] <= sum(parts) + 1e-9


@few
@given(cases(most_worlds=100))
def test_what_comes_later_changes_no_earlier_answer(case: Case) -> None:
    steps, _ = case.chains()
    last = steps[-1] if steps else None
    cut = {name: [r for r in case.rows[name] if r[stream.time] != last] for name, stream in case.streams.items()}
    earlier = replace(case, rows=cut).answers()
    whole = {answer: p for answer, p in case.answers().items() if answer[1] != last}
    assert earlier.keys() == whole.keys()
    assert all(abs(earlier[answer] - p) < 1e-9 for answer, p in whole.items())


@few
@given(cases("any", most_worlds=60))
def test_steps_and_chains_are_those_of_the_rows(case: Case) -> None:
    steps, chains = chains_of(case.streams, case.rows)
    times = {row[stream.time] for name, stream in case.streams.items() for row in case.rows[name]}
    assert steps == sorted(times)
    for chain in chains:
        at = sum(len(rows) for rows in chain.rows)
        same = [
            row
            for row in case.rows[chain.stream.name]
            if chain.stream.kind == "certain"
            or tuple(row[chain.stream.attributes[i]] for i in chain.stream.key) == chain.key
        ]
        assert at == len(same)
    assert all(len(world) == len(steps) for _, world in worlds(steps, chains))


def test_the_smallest_failing_case_has_nothing_to_spare() -> None:
    def fails(case: Case) -> bool:
        """Some world has an answer, and a constant stands beside `_`."""
        terms = [term for part in case.query.parts for term in part.terms]
        if not any(isinstance(term, Constant) for term in terms) or Anything() not in terms:
            return False
        steps, chains = case.chains()
        return any(answers_in(case.query, steps, world) for _, world in worlds(steps, chains))

    def remembers(case: Case) -> bool:
        """A Markov chain may need a row more: of a step between, at which it has no event."""
        return any(stream.kind == "markov" for stream in case.streams.values())

    made = (case_of(seed, "safe", most_worlds=60) for seed in range(500))
    case = next(each for each in made if fails(each) and not remembers(each))
    small = smallest(case, fails)
    assert fails(small)
    assert not small.query.where
    assert not small.query.selected
    assert all(part.condition is None and part.plus is None for part in small.query.parts)
    assert sum(map(len, small.rows.values())) == len(small.query.parts) <= 2
