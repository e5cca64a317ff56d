"""Scenarios: a file in, how each of them ended out; without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from presage.cli import main
from presage.errors import PresageError
from presage.scenarios import Outcome, run_scenarios

EXAMPLES = Path(__file__).parents[3] / "examples"
RULES = """
CREATE STREAM T (k STRING, x DOUBLE, tags ARRAY<STRING>, at TIMESTAMP) EVENT TIME at;
CREATE STATEMENT high AS SELECT k, x FROM T WHERE x > 10;
"""
ONE, TWO = "'2024-03-01T09:00:00Z'", "'2024-03-01T09:00:01Z'"
LATER = "ADVANCE TO '2024-03-01T10:00:00Z';"


def tried(folder: Path, text: str, rules: str = RULES) -> list[Outcome]:
    (folder / "t.epl").write_text(rules + text, encoding="utf-8")
    return list(run_scenarios(folder / "t.epl", name="t.epl"))


def failure(folder: Path, text: str) -> PresageError:
    (outcome,) = tried(folder, text)
    assert outcome.failure is not None
    return outcome.failure


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["presage", *arguments])
    return main()


def test_a_file_without_the_word_is_one_scenario(tmp_path: Path) -> None:
    (outcome,) = tried(
        tmp_path, f"INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}); {LATER} ASSERT high VALUES ('a', 11);"
    )
    assert outcome.passed
    assert (outcome.title, outcome.assertions) == ("the whole file", 1)


def test_each_scenario_has_a_home_of_its_own(tmp_path: Path) -> None:
    event = f"INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}); {LATER} ASSERT high COUNT 1;"
    assert [o.passed for o in tried(tmp_path, f"SCENARIO 'one'; {event} SCENARIO 'two'; {event}")] == [True, True]


def test_an_assertion_looks_at_the_rows_since_the_last_one(tmp_path: Path) -> None:
    text = f"""INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}); ADVANCE T TO {ONE};
               ASSERT high (x) VALUES (11); ASSERT high EMPTY;
               INSERT INTO T (k, x, at) VALUES ('b', 12, {TWO}); {LATER} ASSERT high (k, at) VALUES ('b', {TWO});"""
    assert tried(tmp_path, text)[0].failure is None


def test_order_counts_unless_it_is_said_not_to(tmp_path: Path) -> None:
    events = f"INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}), ('b', 12, {TWO}); {LATER}"
    assert tried(tmp_path, f"{events} ASSERT high (k) VALUES ('b'), ('a') IN ANY ORDER;")[0].passed
    found = failure(tmp_path, f"{events} ASSERT high (k) VALUES ('b'), ('a');")
    assert found.code == "ASSERTION_FAILED"
    assert "'k' of row 1 is 'a', expected 'b'" in found.message


def test_rows_that_are_missing_or_too_many_are_told(tmp_path: Path) -> None:
    events = f"INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}), ('b', 12, {TWO}); {LATER}"
    assert "2 rows came, 1 row expected" in failure(tmp_path, f"{events} ASSERT high (k) VALUES ('a');").message
    assert "2 rows came, 0 rows expected" in failure(tmp_path, f"{events} ASSERT high EMPTY;").message
    said = failure(tmp_path, f"{events} ASSERT high (k) VALUES ('a'), ('c') IN ANY ORDER;").message
    assert "1 row missing, 1 row too many" in said


@pytest.mark.parametrize(("expected", "passes"), [("11.0000000001", True), ("11.1", False), ("11.1 TOLERANCE", True)])
def test_numbers_may_differ_by_the_tolerance(tmp_path: Path, expected: str, passes: bool) -> None:
    value, _, wide = expected.partition(" ")
    how = "TOLERANCE 0.2" if wide else ""
    text = f"INSERT INTO T (k, x, at) VALUES ('a', 11, {ONE}); {LATER} ASSERT high (x) VALUES ({value}) {how};"
    assert tried(tmp_path, text)[0].passed is passes


def test_queries_without_a_name_stand_by_number_or_stream(tmp_path: Path) -> None:
    text = f"""SELECT k FROM T; INSERT INTO Loud SELECT x FROM T;
               INSERT INTO T (k, x, at) VALUES ('a', 1, {ONE}); {LATER}
               ASSERT query_1 VALUES ('a'); ASSERT Loud (x) VALUES (1);"""
    assert tried(tmp_path, text)[0].failure is None


def test_a_rule_file_is_included_and_its_mistakes_are_told_there(tmp_path: Path) -> None:
    (tmp_path / "rules.epl").write_text(RULES, encoding="utf-8")
    assert tried(tmp_path, "INCLUDE 'rules.epl'; ASSERT high EMPTY;", rules="")[0].passed
    (tmp_path / "rules.epl").write_text("SELECT x FROM Nobody;", encoding="utf-8")
    (outcome,) = tried(tmp_path, "INCLUDE 'rules.epl'; ASSERT query_1 EMPTY;", rules="")
    assert outcome.failure is not None
    assert outcome.failure.source is not None
    assert (outcome.failure.code, outcome.failure.source.name) == ("UNKNOWN_STREAM", "rules.epl")


REFUSED = [
    ("ASSERT hihg EMPTY;", "UNKNOWN_OBJECT", "did you mean 'high'?"),
    ("ASSERT high (z) VALUES (1);", "UNKNOWN_ATTRIBUTE", "known: at, k, x"),
    ("ASSERT high VALUES ('a');", "WRONG_ARGUMENTS", ""),
    ("ASSERT high VALUES ('a', 'b');", "TYPE_MISMATCH", ""),
    ("INSERT INTO T (k, x) VALUES ('a', 1); ASSERT high EMPTY;", "BAD_VALUE", ""),
    ("INSERT INTO T (k, at) VALUES ('a', NULL); ASSERT high EMPTY;", "BAD_VALUE", ""),
    (f"INSERT INTO T (k, k, at) VALUES ('a', 'b', {ONE}); ASSERT high EMPTY;", "DUPLICATE_NAME", "name each"),
    (f"INSERT INTO T (q, at) VALUES ('a', {ONE}); ASSERT high EMPTY;", "UNKNOWN_ATTRIBUTE", "known: at, k, tags, x"),
    (f"INSERT INTO U VALUES ('a', {ONE}); ASSERT high EMPTY;", "UNKNOWN_STREAM", ""),
    ("ADVANCE TO 'noon'; ASSERT high EMPTY;", "BAD_TIMESTAMP", ""),
    ("ADVANCE U TO '2024-01-01'; ASSERT high EMPTY;", "UNKNOWN_STREAM", ""),
]


@pytest.mark.parametrize(("text", "code", "fix"), REFUSED)
def test_what_cannot_be_meant_is_told_at_its_place(tmp_path: Path, text: str, code: str, fix: str) -> None:
    found = failure(tmp_path, text)
    assert found.code == code
    assert fix in found.fix
    assert found.line == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT k FROM T;", "without ASSERT"),
        ("ASSERT high EMPTY; SCENARIO 'x'; ASSERT high EMPTY;", "before the first SCENARIO"),
        ("SCENARIO 'x'; ASSERT high EMPTY; SCENARIO 'y';", "scenario 'y' is without ASSERT"),
        ("INCLUDE 't.epl'; ASSERT high EMPTY;", "includes itself"),
        ("INCLUDE 'nobody.epl'; ASSERT high EMPTY;", "does not exist"),
    ],
)
def test_a_file_that_tests_nothing_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PresageError, match=said):
        tried(tmp_path, text)


def test_the_command_tells_each_scenario_and_ends_with_one_if_some_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "two.epl"
    path.write_text(
        RULES + "SCENARIO 'good'; ASSERT high EMPTY; SCENARIO 'bad'; ASSERT high COUNT 3;", encoding="utf-8"
    )
    assert command(monkeypatch, "test", str(path)) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1] == "1 passed, 1 failed"
    assert "error[ASSERTION_FAILED]" in shown.err
    assert command(monkeypatch, "test", str(path), "--format", "json") == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["scenario"], line["passed"]) for line in lines] == [("good", True), ("bad", False)]


def test_assertions_belong_to_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.epl"
    path.write_text(RULES + "ASSERT high EMPTY;", encoding="utf-8")
    assert command(monkeypatch, "check", str(path)) == 1
    assert "ASSERT is not supported outside of a scenario" in capsys.readouterr().err


# The questions about servers recall history, which Spark reads: they are tried with its tests.
WITHOUT_SPARK = [path for path in sorted(EXAMPLES.glob("*/*.test.epl")) if path.parent.name != "servers"]


@pytest.mark.parametrize("file", WITHOUT_SPARK, ids=lambda path: path.name)
def test_the_rules_of_our_own_examples_do_what_they_are_meant_to(file: Path) -> None:
    outcomes = list(run_scenarios(file))
    assert len(outcomes) >= 3
    assert [outcome.failure for outcome in outcomes if not outcome.passed] == []
