"""Declarations: what is refused, what is inherited, which options count."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang.printer import print_statement
from presage.model import types as t
from presage.workspace import Workspace
from unit.declared import refusals, workspace

# What is written, the code, the column of the caret, the message, the fix.
REFUSED = [
    (
        "CREATE RELATION Place (camera STRING) VALUES ('c9')",
        "ALREADY_DECLARED",
        1,
        "'Place' is already declared as a relation, and this says something else: attribute floor (INT) is left out; "
        "the list of VALUES is 2 rows (('c1', 1), ('c2', 2)), here 1 rows (('c9',),)",
        "choose another name, or DROP RELATION Place and declare it again: no event is lost",
    ),
    (
        "CREATE RELATION Motion (a INT) VALUES (1)",
        "ALREADY_DECLARED",
        1,
        "'Motion' is already declared as a stream",
        "choose another name",
    ),
    (
        "CREATE STREAM T (a INT, a INT, at TIMESTAMP) EVENT TIME at",
        "DUPLICATE_NAME",
        25,
        "the name 'a' is used twice in stream 'T'",
        "rename one of them",
    ),
    (
        "CREATE STREAM T (a INT, A INT, at TIMESTAMP) EVENT TIME at",
        "DIFFERS_IN_CASE",
        25,
        "'A' and 'a' of stream 'T' differ only in case: the Delta table that the archive is takes them for one column",
        "rename one of them",
    ),
    (
        "CREATE STREAM T (camera INT) INHERITS CameraEvent",
        "CONFLICTING_DOMAINS",
        1,
        "'T' inherits attribute 'camera' as STRING from 'CameraEvent' and as INT from its own list",
        "give both the same type, or rename one of them",
    ),
    (
        "CREATE STREAM T (Camera STRING) INHERITS CameraEvent",
        "DIFFERS_IN_CASE",
        1,
        "'Camera' and 'camera' of stream 'T' differ only in case: the Delta table that the archive is takes them for "
        "one column",
        "rename one of them",
    ),
    (
        "CREATE STREAM T (a INT) INHERITS CameraEvnt",
        "UNKNOWN_TYPE",
        1,
        "there is no type named 'CameraEvnt'",
        "did you mean 'CameraEvent'?",
    ),
    (
        "CREATE STREAM T (a INT)",
        "NO_EVENT_TIME",
        1,
        "stream 'T' has no event time",
        "add EVENT TIME <a TIMESTAMP attribute>, or inherit one",
    ),
    (
        "CREATE STREAM T (a INT) EVENT TIME at",
        "UNKNOWN_ATTRIBUTE",
        1,
        "stream 'T' has no attribute 'at'",
        "did you mean 'a'?",
    ),
    ("CREATE STREAM T (at INT) EVENT TIME at", "TYPE_MISMATCH", 1, "EVENT TIME at needs TIMESTAMP, found INT", ""),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at KEY (b)",
        "UNKNOWN_ATTRIBUTE",
        1,
        "stream 'T' has no attribute 'b'",
        "known: at",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (sorce = 'kafka')",
        "UNKNOWN_OPTION",
        52,
        "'sorce' is not an option of stream 'T'",
        "did you mean 'source'?",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'kafak')",
        "BAD_VALUE",
        52,
        "source is 'kafak'; it must be one of memory, files, kafka, mqtt, rate, spark",
        "did you mean 'kafka'?",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', format = 'json')",
        "MISSING_OPTION",
        1,
        "stream 'T' with source = 'files' needs the option 'path'",
        "add path = 'incoming', the folder that its files are put into",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = 'in', formt = 'json')",
        "UNKNOWN_OPTION",
        83,
        "'formt' is not an option of stream 'T'",
        "did you mean 'format'?",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = 'in', format = 'jsn')",
        "BAD_VALUE",
        83,
        "format is 'jsn'; it must be one of json, csv, parquet",
        "did you mean 'json'?",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = '/etc')",
        "PATH_OUTSIDE_ROOTS",
        70,
        "the path '/etc' is outside the allowed folders ()",
        "move the file there, or add its folder to roots= where the engine is opened",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = 'in', settle = 'soon')",
        "BAD_DURATION",
        83,
        "'soon' is not a duration",
        "write for example 5 sec, 1 hour 30 min, 500 msec",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'rate', rows_per_second = 0)",
        "BAD_VALUE",
        69,
        "rows_per_second is '0'; it must be a number more than 0 and at most 10,000,000",
        "",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'rate', keys = 2.5)",
        "BAD_VALUE",
        69,
        "keys is '2.5'; it must be a whole number more than 0 and at most 1,000,000",
        "",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'rate', start = 'noon')",
        "BAD_TIMESTAMP",
        69,
        "'noon' is not a timestamp",
        "write ISO 8601, for example 2012-05-07T09:00:00Z",
    ),
    (
        "CREATE STREAM T (k STRING, l STRING, at TIMESTAMP) EVENT TIME at KEY (k) PROBABILISTIC (l) "
        "WITH (source = 'rate')",
        "UNSUPPORTED",
        1,
        "source = 'rate' is not supported for a probabilistic stream",
        "make readings with it, and infer the stream from them",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (max_delay = '5 parsecs')",
        "BAD_DURATION",
        52,
        "'5 parsecs' is not a duration",
        "write for example 5 sec, 1 hour 30 min, 500 msec",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (retention = '5 parsecs')",
        "BAD_DURATION",
        52,
        "'5 parsecs' is not a duration",
        "write for example 5 sec, 1 hour 30 min, 500 msec",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (max_ahead = 'soon')",
        "BAD_DURATION",
        52,
        "'soon' is not a duration",
        "write for example 5 sec, 1 hour 30 min, 500 msec",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (archive = 'maybe')",
        "BAD_VALUE",
        52,
        "archive is 'maybe'; it must be true or false",
        "",
    ),
    (
        "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (max_delay = '5 sec', MAX_DELAY = '6 sec')",
        "DUPLICATE_NAME",
        73,
        "the name 'MAX_DELAY' is used twice in the options of stream 'T'",
        "",
    ),
    (
        "CREATE SCHEMA T (at TIMESTAMP) WITH (source = 'memory')",
        "UNKNOWN_OPTION",
        38,
        "'source' is not an option of schema 'T'",
        "options belong to a stream",
    ),
    (
        "CREATE STREAM T (_seq INT, at TIMESTAMP) EVENT TIME at",
        "BAD_VALUE",
        18,
        "the attribute name is '_seq'; it must be none of Presage's own names",
        "choose another name",
    ),
    (
        "CREATE RELATION R (a INT, A INT) VALUES (1, 2)",
        "DIFFERS_IN_CASE",
        27,
        "'A' and 'a' of relation 'R' differ only in case: Spark takes them for one column",
        "rename one of them",
    ),
    ("CREATE RELATION R () VALUES (1)", "BAD_VALUE", 1, "relation 'R' is without columns; it must be one or more", ""),
    (
        "CREATE RELATION R (a INT, b INT) VALUES (1, 2), (3)",
        "WRONG_ARGUMENTS",
        50,
        "a row of relation 'R' takes 2 values, found 1",
        "",
    ),
    ("CREATE RELATION R (a INT) VALUES ('x')", "TYPE_MISMATCH", 35, "'a' of relation 'R' needs INT, found STRING", ""),
    (
        "CREATE RELATION R (a INT) VALUES (1 + 1)",
        "BAD_VALUE",
        35,
        "a value of relation 'R' is an expression; it must be a literal",
        "",
    ),
    (
        "CREATE RELATION R (a INT) FROM 'nowhere.csv'",
        "PATH_OUTSIDE_ROOTS",
        1,
        "the path 'nowhere.csv' is outside the allowed folders ()",
        "move the file there, or add its folder to roots= where the engine is opened",
    ),
    (
        "CREATE RELATION Motion (a INT) VALUES (1)",
        "ALREADY_DECLARED",
        1,
        "'Motion' is already declared as a stream",
        "choose another name",
    ),
]


@pytest.mark.parametrize(("text", "code", "column", "message", "fix"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_declaration_is_refused_with_its_place_and_a_fix(
    text: str, code: str, column: int, message: str, fix: str
) -> None:
    (found,) = refusals(text)
    assert (found.code, found.line, found.column, found.message, found.fix) == (code, 1, column, message, fix)


@pytest.mark.parametrize(
    "written", ["STRUCT<a INT, A INT>", "ARRAY<STRUCT<a INT, a INT>>", "MAP<STRING, STRUCT<x STRUCT<b INT, b INT>>>"]
)
def test_two_fields_of_one_name_are_refused_wherever_they_stand(written: str) -> None:
    (found,) = refusals(f"CREATE STREAM T (s {written}) INHERITS CameraEvent")
    assert found.code == (
        "DIFFERS_IN_CASE" if "A" in written.removeprefix("ARRAY").removeprefix("MAP") else "DUPLICATE_NAME"
    )
    assert found.column == 18
    assert "'s' of stream 'T'" in found.message


def test_attributes_are_inherited_before_the_own_ones_and_the_event_time_with_them() -> None:
    motion = workspace().catalog.types["Motion"]
    assert [a.name for a in motion.attributes] == ["camera", "at", "x", "y", "n"]
    assert motion.event_time == "at"


def test_a_diamond_inherits_an_attribute_once() -> None:
    made = workspace(
        "CREATE SCHEMA A (n INT) INHERITS CameraEvent; CREATE SCHEMA B (n INT) INHERITS CameraEvent;"
        "CREATE STREAM C (z INT) INHERITS A, B;"
    )
    assert [a.name for a in made.catalog.types["C"].attributes] == ["camera", "at", "n", "z"]


def test_two_parents_with_two_domains_of_one_attribute_are_refused() -> None:
    (found,) = refusals("CREATE STREAM C INHERITS A, B", "CREATE SCHEMA A (n INT); CREATE SCHEMA B (n LONG);")
    assert found.code == "CONFLICTING_DOMAINS"
    assert found.message == "'C' inherits attribute 'n' as INT from 'A' and as LONG from 'B'"


def test_two_event_times_must_be_decided() -> None:
    more = "CREATE SCHEMA A (a TIMESTAMP) EVENT TIME a; CREATE SCHEMA B (b TIMESTAMP) EVENT TIME b;"
    (found,) = refusals("CREATE STREAM C INHERITS A, B", more)
    assert (found.code, found.message) == ("AMBIGUOUS_NAME", "'EVENT TIME' could be a or b")
    assert refusals("CREATE STREAM C INHERITS A, B EVENT TIME b", more) == []


def test_FROM_a_type_sees_the_streams_that_inherit_it_and_the_empty_schema_sees_all() -> None:
    catalog = workspace("INSERT INTO Loud SELECT log FROM Fault;").catalog
    assert [s.name for s in catalog.streams_of("CameraEvent")] == ["Motion", "Fault"]
    assert [s.name for s in catalog.streams_of("Event")] == ["Motion", "Fault", "Loud"]
    assert [s.name for s in catalog.streams_of("Motion")] == ["Motion"]


def test_options_are_kept_and_durations_understood() -> None:
    made = workspace(
        "CREATE STREAM T INHERITS CameraEvent WITH (source = 'kafka', topic = 't', max_delay = '1 min 5 sec');"
    )
    stream = made.catalog.types["T"]
    assert stream.max_delay == 65_000_000
    assert stream.options == {"source": "kafka", "topic": "t", "max_delay": "1 min 5 sec"}


def test_the_folder_of_a_source_may_come_later_and_is_the_same_wherever_its_declaration_is_read() -> None:
    made = Workspace(["."], ".")
    text = "CREATE STREAM T (at TIMESTAMP) EVENT TIME at WITH (source = 'files', path = 'in/coming')"
    settled = made.settle(made.parse(text).statements[0])
    assert f"path = '{made.resolve_folder('in/coming')}'" in print_statement(settled)
    assert made.resolve_folder("in/coming").is_absolute()


def test_values_of_a_relation_widen_and_times_are_read() -> None:
    made = workspace(
        "CREATE RELATION R (a DOUBLE, b TIMESTAMP, c LONG) VALUES (1, '2024-03-01', NULL), (-2.5, NULL, -3);"
    )
    assert made.catalog.relations["R"].rows == ((1.0, 1_709_251_200_000_000, None), (-2.5, None, -3))
    assert [a.type for a in made.catalog.relations["R"].attributes] == [t.DOUBLE, t.TIMESTAMP, t.LONG]


def test_a_file_outside_the_roots_and_a_missing_one_are_two_errors(tmp_path) -> None:
    inside = tmp_path / "data"
    inside.mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    made = Workspace([inside], inside)
    for path, code in (("../secret.csv", "PATH_OUTSIDE_ROOTS"), ("gone.csv", "FILE_NOT_FOUND")):
        with pytest.raises(PresageError) as raised:
            made.check(f"CREATE RELATION R (a INT)\nFROM '{path}'")
        assert (raised.value.code, raised.value.line) == (code, 1)
