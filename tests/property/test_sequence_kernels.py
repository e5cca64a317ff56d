"""The kernels of sequences against possible worlds: nothing is called exact that the enumerator refutes."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.operators.sequence.classify import EXTENDED, REGULAR, classify
from presage.operators.sequence.kernel.facts import Answers
from presage.operators.sequence.kernel.regular.evaluation import evaluate_regular
from property.sequence_facts import query_and_facts
from property.sequence_texts import Case, cases


def named(answers: Answers, case: Case, values: dict, steps: list) -> dict:
    return {
        (tuple(values[n][c] for n, c in zip(case.query.selected, line, strict=True)), steps[step]): p
        for line, step, p in zip(answers.bindings, answers.step, answers.probability, strict=True)
    }


def assert_same(found: dict, expected: dict) -> None:
    expected = {key: p for key, p in expected.items() if p > 1e-12}
    found = {key: p for key, p in found.items() if p > 1e-12}
    assert found.keys() == expected.keys()
    for key, p in expected.items():
        assert found[key] == pytest.approx(p, abs=1e-9), key


@settings(max_examples=settings.default.max_examples)
@given(st.data())
def test_regular_and_extended_regular_queries_have_the_probabilities_of_the_worlds(data: st.DataObject) -> None:
    case = data.draw(cases(data.draw(st.sampled_from([REGULAR, EXTENDED]))))
    query, facts, values, steps = query_and_facts(case)
    verdict = classify(query)
    event(f"{verdict.kind} ({case.class_by_definition})")
    if verdict.kind in (REGULAR, EXTENDED):
        made = evaluate_regular(query, facts, frozenset({*query.selected, *verdict.groups}))
        event("evaluated" if made is not None else "several Markov chains")
        if made is not None:
            assert_same(named(made.answers, case, values, steps), case.answers())
