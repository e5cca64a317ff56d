"""Functions over DECIMAL, DATE and BYTES are computed, or refused with the cast to write; nothing else."""

from __future__ import annotations

from presage.columnar.evaluate import Evaluator, supports
from presage.errors import PresageError
from presage.model.arrow import to_arrow
from presage.model.types import DecimalOf
from reference.exact_calls import calls_with_exact_types, table_of_exact_values

CALLS = list(calls_with_exact_types())


def test_every_function_takes_each_exact_type_or_says_what_it_takes() -> None:
    refused = [(title, call) for title, call in CALLS if isinstance(call, PresageError)]
    assert len(refused) < len(CALLS)
    for title, error in refused:
        assert error.code in ("TYPE_MISMATCH", "WRONG_ARGUMENTS"), title
        text = str(error)
        assert "needs" in text or "takes" in text, title
        if "needs a number, found DECIMAL" in text or "needs STRING" in text or "needs LONG" in text:
            assert "write CAST(" in text, title


def test_what_is_taken_is_computed_without_a_failure() -> None:
    taken = [(title, call) for title, call in CALLS if not isinstance(call, PresageError) and supports(call)]
    assert len(taken) > 200
    table = table_of_exact_values()
    for title, call in taken:
        assert Evaluator().column(call, table).type == to_arrow(call.type), title


def test_functions_that_compute_with_decimals_are_exact() -> None:
    found: dict[str, set[bool]] = {}
    for title, call in CALLS:
        name, _, arguments = title.partition("(")
        if not isinstance(call, PresageError) and arguments.startswith("DECIMAL") and "DOUBLE" not in arguments:
            found.setdefault(name, set()).add(isinstance(call.type, DecimalOf))
    exact = ("abs", "ceil", "floor", "mod", "negative", "nullifzero", "positive", "round", "zeroifnull", "coalesce")
    assert all(found[name] == {True} for name in exact), found
    assert found["sqrt"] == {False}
