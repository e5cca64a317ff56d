"""Functions by name: which are allowed, what they take, what they give, and what is said of the others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from presage.errors import PresageError
from presage.functions.aggregates import aggregates, is_aggregate, resolve_aggregate
from presage.functions.resolve import ResolvedFunction, constants_of, is_function, resolve_function
from presage.functions.scalars import BY_NAME, FAMILIES
from presage.functions.scalars.refused import REFUSED
from presage.functions.signatures import parse_signature
from presage.model.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    MapOf,
    StructOf,
)
from presage.plan.expr import ColumnRef, Constant, Negate

INTS, TEXTS = ArrayOf(INT), ArrayOf(STRING)
PRICES = MapOf(STRING, DOUBLE)


def fails(name: str, *types: DataType, constants: dict[int, object] | None = None) -> PresageError:
    with pytest.raises(PresageError) as caught:
        resolve_function(name, types, None, constants)
    return caught.value


def result(name: str, *types: DataType) -> DataType:
    return resolve_function(name, types).result


@pytest.mark.parametrize(
    ("name", "types", "expected"),
    [
        ("abs", (INT,), INT),
        ("abs", (DOUBLE,), DOUBLE),
        ("sqrt", (INT,), DOUBLE),
        ("ceil", (INT,), LONG),
        ("floor", (DOUBLE,), LONG),
        ("round", (LONG, INT), LONG),
        ("greatest", (INT, LONG, DOUBLE), DOUBLE),
        ("coalesce", (NULL, INT, LONG), LONG),
        ("coalesce", (NULL, NULL), NULL),
        ("nvl2", (STRING, INT, DOUBLE), DOUBLE),
        ("if", (BOOLEAN, NULL, STRING), STRING),
        ("concat", (STRING, STRING, STRING), STRING),
        ("concat", (INTS, ArrayOf(DOUBLE)), ArrayOf(DOUBLE)),
        ("reverse", (TEXTS,), TEXTS),
        ("split", (STRING, STRING), TEXTS),
        ("hour", (TIMESTAMP,), INT),
        ("date_trunc", (STRING, TIMESTAMP), TIMESTAMP),
        ("last_day", (TIMESTAMP,), TIMESTAMP),
        ("unix_micros", (TIMESTAMP,), LONG),
        ("array", (INT, DOUBLE), ArrayOf(DOUBLE)),
        ("array", (), ArrayOf(NULL)),
        ("array_position", (INTS, INT), LONG),
        ("element_at", (PRICES, STRING), DOUBLE),
        ("element_at", (TEXTS, INT), STRING),
        ("flatten", (ArrayOf(INTS),), INTS),
        ("size", (PRICES,), INT),
        ("map_keys", (PRICES,), TEXTS),
        ("map_entries", (PRICES,), ArrayOf(StructOf((("key", STRING), ("value", DOUBLE))))),
        ("map", (STRING, INT, STRING, LONG), MapOf(STRING, LONG)),
        ("struct", (INT, STRING), StructOf((("col1", INT), ("col2", STRING)))),
        ("hash", (INT, STRING, TIMESTAMP), INT),
        ("pi", (), DOUBLE),
    ],
)
def test_the_result_follows_from_the_arguments(name: str, types: tuple[DataType, ...], expected: DataType) -> None:
    assert result(name, *types) == expected


def test_names_ignore_case_and_aliases_mean_sparks_own() -> None:
    assert resolve_function("POW", (INT, DOUBLE)) == ResolvedFunction("power", DOUBLE, (DOUBLE, DOUBLE))
    assert resolve_function("Char_Length", (STRING,)).name == "length"


def test_arguments_are_cast_to_the_type_that_they_share() -> None:
    assert resolve_function("greatest", (INT, LONG, NULL)).coerced == (LONG, LONG, LONG)
    assert resolve_function("array_contains", (INTS, DOUBLE)).coerced == (ArrayOf(DOUBLE), DOUBLE)
    assert resolve_function("hash", (INT, STRING)).coerced == (INT, STRING)


def test_null_fits_every_parameter() -> None:
    for name, entry in BY_NAME.items():
        if name in ("map", "struct", "named_struct"):
            continue
        for form in map(parse_signature, entry.forms):
            resolved = resolve_function(name, (NULL,) * form.least)
            assert len(resolved.coerced) == form.least


def test_nothing_but_numbers_widens() -> None:
    for argument in (INT, BOOLEAN, TIMESTAMP, TEXTS):
        assert fails("upper", argument).code == "TYPE_MISMATCH"
    assert fails("sqrt", STRING).code == "TYPE_MISMATCH"
    assert fails("repeat", STRING, LONG).code == "TYPE_MISMATCH"


def test_a_wrong_type_is_told_with_the_argument_what_was_wanted_and_the_fix() -> None:
    failure = fails("substring", STRING, STRING)
    assert failure.message == "argument 2 of substring needs INT, found STRING"
    assert failure.fix == "write CAST(… AS INT)"
    assert fails("array_contains", INTS, STRING).message == "argument 2 of array_contains needs INT, found STRING"
    assert fails("array_max", INT).message == "argument 1 of array_max needs an ARRAY, found INT"
    assert fails("greatest", PRICES, PRICES).message.startswith(
        "argument 1 of greatest needs a value that has an order"
    )


def test_forms_that_could_be_meant_are_all_told() -> None:
    failure = fails("element_at", STRING, INT)
    assert (failure.code, failure.message) == (
        "WRONG_ARGUMENTS",
        "element_at takes (ARRAY<T>, INT) or (MAP<K, V>, K), found (STRING, INT)",
    )


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("pow", 1, "pow takes 2 arguments, found 1"),
        ("pi", 1, "pi takes no argument, found 1"),
        ("substring", 1, "substring takes 2 to 3 arguments, found 1"),
        ("coalesce", 0, "coalesce takes at least one argument, found 0"),
        ("upper", 2, "upper takes one argument, found 2"),
        ("map", 1, "map takes keys and values in turn, found 1"),
    ],
)
def test_a_wrong_number_of_arguments_is_told_in_words(name: str, count: int, expected: str) -> None:
    failure = fails(name, *[NULL] * count)
    assert (failure.code, failure.message) == ("WRONG_ARGUMENTS", expected)


def test_an_unknown_function_is_answered_with_the_nearest() -> None:
    failure = fails("lenght", STRING)
    assert (failure.code, failure.fix) == ("UNKNOWN_FUNCTION", "did you mean 'length'?")


@pytest.mark.parametrize(
    "name", ["reflect", "java_method", "rand", "UUID", "current_timestamp", "input_file_name", "raise_error"]
)
def test_what_reflects_reads_files_or_is_random_is_refused_with_a_reason(name: str) -> None:
    failure = fails(name)
    assert failure.code == "FUNCTION_NOT_ALLOWED"
    assert REFUSED[name.lower()] in failure.message


def test_no_function_is_both_allowed_and_refused_or_an_aggregate() -> None:
    assert set(BY_NAME) & set(REFUSED) == set()
    assert set(BY_NAME) & {each.name for each in aggregates()} == set()
    assert set(REFUSED) & {each.name for each in aggregates()} == set()


def test_no_name_stands_twice_in_the_table() -> None:
    names = [name for entries in FAMILIES.values() for entry in entries for name in entry.names]
    assert len(names) == len(set(names)) == len(BY_NAME)
    assert len(names) > 200
    assert all(is_function(name.upper()) for name in names)


def test_named_struct_takes_its_names_from_constants() -> None:
    types = (STRING, INT, STRING, TIMESTAMP)
    made = resolve_function("named_struct", types, None, {0: "x", 2: "at"})
    assert made.result == StructOf((("x", INT), ("at", TIMESTAMP)))
    assert fails("named_struct", *types, constants={0: "x"}).code == "TYPE_MISMATCH"
    assert fails("named_struct", *types, constants={0: "x", 2: "x"}).code == "DUPLICATE_NAME"


@pytest.mark.parametrize(
    ("name", "types", "constants", "expected"),
    [
        ("regexp_like", (STRING, STRING), {}, "not a constant"),
        ("regexp_like", (STRING, STRING), {1: "a("}, "'a('"),
        ("regexp_extract", (STRING, STRING), {1: "abc"}, "a pattern with a group"),
        ("regexp_extract", (STRING, STRING, INT), {1: "(a)", 2: 2}, "0 to 1"),
        ("regexp_replace", (STRING, STRING, STRING), {1: "(a)", 2: "$2"}, "no group 2"),
        ("date_trunc", (STRING, TIMESTAMP), {0: "fortnight"}, "one of day, hour"),
        ("trunc", (TIMESTAMP, STRING), {1: "hour"}, "one of month"),
        ("date_format", (TIMESTAMP, STRING), {1: "yyyy-bb"}, "the letter b"),
        ("to_timestamp", (STRING, STRING), {1: "'open"}, "not closed"),
        ("next_day", (TIMESTAMP, STRING), {1: "someday"}, "a day of the week"),
        ("from_utc_timestamp", (TIMESTAMP, STRING), {1: "Europe/Atlantis"}, "a time zone"),
        ("sha2", (STRING, INT), {1: 100}, "224, 256"),
        ("round", (DOUBLE, INT), {1: 1000}, "-300 to 300"),
        ("sort_array", (INTS, BOOLEAN), {}, "not a constant"),
    ],
)
def test_a_bad_constant_is_found_when_the_query_is_bound(
    name: str, types: tuple[DataType, ...], constants: dict[int, object], expected: str
) -> None:
    failure = fails(name, *types, constants=constants)
    assert failure.code == "BAD_VALUE"
    assert expected in failure.message


def test_constants_are_read_off_the_arguments() -> None:
    args = [ColumnRef(INT, "x"), Negate(INT, Constant(INT, 2)), Constant(STRING, "a"), Constant(NULL, None)]
    assert constants_of(args) == {1: -2, 2: "a", 3: None}


# -- aggregates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("count", None, LONG),
        ("count", TEXTS, LONG),
        ("SUM", INT, LONG),
        ("sum", DOUBLE, DOUBLE),
        ("avg", LONG, DOUBLE),
        ("stddev", INT, DOUBLE),
        ("median", DOUBLE, DOUBLE),
        ("min", STRING, STRING),
        ("max", TIMESTAMP, TIMESTAMP),
        ("first", PRICES, PRICES),
        ("last", BOOLEAN, BOOLEAN),
        ("window", INT, INTS),
    ],
)
def test_the_result_of_an_aggregate_follows_from_its_argument(
    name: str, argument: DataType | None, expected: DataType
) -> None:
    assert is_aggregate(name)
    assert resolve_aggregate(name, argument, distinct=False) == expected


@pytest.mark.parametrize(
    ("name", "argument", "distinct", "code"),
    [
        ("sum", STRING, False, "TYPE_MISMATCH"),
        ("avg", TIMESTAMP, False, "TYPE_MISMATCH"),
        ("min", TEXTS, False, "TYPE_MISMATCH"),
        ("sum", None, False, "WRONG_ARGUMENTS"),
        ("median", INT, True, "WRONG_ARGUMENTS"),
        ("window", INT, True, "WRONG_ARGUMENTS"),
        ("count", None, True, "WRONG_ARGUMENTS"),
    ],
)
def test_an_aggregate_refuses_what_it_cannot_take(
    name: str, argument: DataType | None, distinct: bool, code: str
) -> None:
    with pytest.raises(PresageError) as caught:
        resolve_aggregate(name, argument, distinct)
    assert caught.value.code == code


def test_the_table_is_there_without_spark_or_arrow() -> None:
    script = (
        "import sys, presage.functions.resolve, presage.functions.aggregates;"
        "print(sorted({'pyspark', 'pyarrow', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
