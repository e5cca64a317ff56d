"""Guards that cover less than they seem to: which patterns warn, and that the suggested brackets cover all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import Engine
from presage.errors import QueryWarning
from presage.lang import parse
from presage.select.warnings import warnings_in

ROOT = Path(__file__).parents[3]


def warned(pattern: str) -> tuple[QueryWarning, ...]:
    return warnings_in(parse(f"SELECT * FROM PATTERN [ {pattern} ]"))


def suggested(found: QueryWarning) -> str:
    return found.fix.removeprefix("write ").partition(", or (")[0]


@pytest.mark.parametrize(
    ("pattern", "covering"),
    [
        (
            "EVERY a=A -> b=B -> c=C WHERE timer:within(1 min)",
            "EVERY a=A -> (b=B -> c=C) WHERE timer:within(1 min)",
        ),
        ("a=A -> b=B -[3]> c=C WHERE timer:within(1 min)", "a=A -> (b=B -[3]> c=C) WHERE timer:within(1 min)"),
        ("a=A -> b=B -> c=C WHILE (c.v > 1)", "a=A -> (b=B -> c=C) WHILE (c.v > 1)"),
        (
            "EVERY (a=A -> b=B -> c=C WHERE timer:within(1 min))",
            "EVERY (a=A -> (b=B -> c=C) WHERE timer:within(1 min))",
        ),
        (
            "EVERY (a=A -> b=B) -> c=C WHERE timer:within(1 min)",
            "EVERY ((a=A -> b=B) -> c=C) WHERE timer:within(1 min)",
        ),
        ("(a=A AND b=B) -> c=C WHERE timer:within(1 min)", "(a=A AND b=B -> c=C) WHERE timer:within(1 min)"),
        (
            "EVERY a=A -> b=B AND NOT C WHERE timer:within(10 sec)",
            "EVERY a=A -> (b=B AND NOT C) WHERE timer:within(10 sec)",
        ),
        (
            "a=A -> b=B -> c=C AND NOT A WHERE timer:within(9 sec)",
            "a=A -> (b=B -> c=C AND NOT A) WHERE timer:within(9 sec)",
        ),
        ("EVERY a=A AND NOT B WHERE timer:within(1 min)", "EVERY (a=A AND NOT B) WHERE timer:within(1 min)"),
        ("a=A OR b=B WHERE timer:within(1 min)", "(a=A OR b=B) WHERE timer:within(1 min)"),
        ("a=A UNTIL b=B WHERE timer:withinmax(1 min, 3)", "(a=A UNTIL b=B) WHERE timer:withinmax(1 min, 3)"),
        ("a=A -> [2] b=B WHERE timer:within(1 min)", "a=A -> ([2] b=B) WHERE timer:within(1 min)"),
        (
            "EVERY a=A -> b=B -> c=C WHERE timer:within(1 min) -> d=A",
            "EVERY a=A -> (b=B -> c=C) WHERE timer:within(1 min) -> d=A",
        ),
        (
            "EVERY (a=A -> b=B -[2]> c=C WHERE timer:within(1 min) -[3]> d=A)",
            "EVERY (a=A -> (b=B -[2]> c=C) WHERE timer:within(1 min) -[3]> d=A)",
        ),
        (
            "(a=A AND b=B) -> c=C WHERE timer:within(1 min) -> d=A",
            "(a=A AND b=B -> c=C) WHERE timer:within(1 min) -> d=A",
        ),
    ],
)
def test_a_guard_of_the_last_part_alone_is_told_with_the_brackets_that_cover_all(pattern: str, covering: str) -> None:
    (found,) = warned(pattern)
    assert (found.code, suggested(found)) == ("GUARD_COVERS_LAST", covering)
    assert warned(covering) == ()


@pytest.mark.parametrize(
    "pattern",
    [
        "EVERY a=A -> b=B WHERE timer:within(1 min)",  # its clock starts with a: all of the time is covered
        "EVERY (a=A OR c=C) -> b=B WHERE timer:within(1 min)",
        "EVERY a=A WHERE timer:within(1 min)",
        "EVERY a=A -> b=B -> (c=C WHERE timer:within(1 min))",
        "EVERY a=A -> b=B AND (NOT C WHERE timer:within(1 min))",
        "EVERY a=A -> b=B -> (c=C -> d=A) WHERE timer:within(1 min)",  # brackets that have no other use
        "a=A -> b=B WHERE timer:within(1 min) -> c=C",
        "a=A -> b=B WHERE timer:within(1 min) -> c=C WHERE timer:within(1 min) -> d=A",  # each has its own
        "a=A -> b=B -> (c=C WHERE timer:within(1 min)) -> d=A",
        "(a=A -> b=B -> c=C) WHERE timer:within(1 min)",
        "EVERY a=A -> b=B -> c=C",
    ],
)
def test_what_is_covered_or_put_into_brackets_is_not_told(pattern: str) -> None:
    assert warned(pattern) == ()


def test_a_warning_shows_its_place_as_an_error_does() -> None:
    script = parse("SELECT a.v\nFROM PATTERN [ a=A -> b=B -> c=C WHERE timer:within(1 min) ]", "denied.epl")
    (found,) = warnings_in(script)
    assert found.render() == (
        "warning[GUARD_COVERS_LAST]: WHERE timer:within(1 min) applies to c=C only: a -> b may take any time\n"
        "  --> denied.epl:2:30\n"
        "   2 | FROM PATTERN [ a=A -> b=B -> c=C WHERE timer:within(1 min) ]\n"
        "     |                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  fix: write a=A -> (b=B -> c=C) WHERE timer:within(1 min), or (c=C WHERE timer:within(1 min)) in brackets if "
        "that is what you mean"
    )
    assert found.as_dict() | {"message": "", "fix": ""} == {
        "code": "GUARD_COVERS_LAST",
        "fault": "warning",
        "message": "",
        "fix": "",
        "source": "denied.epl",
        "line": 2,
        "column": 30,
    }


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute("CREATE STREAM Door (card STRING, result STRING, at TIMESTAMP) EVENT TIME at;")
        yield made


def test_the_suggested_text_bounds_the_time_of_all_steps(engine: Engine) -> None:
    times = {"quick": ["09:00:03", "09:00:09", "09:00:15"], "slow": ["09:30:00", "15:20:01", "15:20:09"]}
    rows = [{"card": c, "result": "denied", "at": f"2024-03-01T{t}Z"} for c, several in times.items() for t in several]
    engine.load("Door", rows)
    step = "Door(result = 'denied' AND card = a.card)"
    pattern = f"EVERY a=Door(result = 'denied') -> b={step} -> c={step} WHERE timer:within(1 min)"
    query = "SELECT a.card FROM PATTERN [ {} ] WITHIN [, )"
    wrong = engine.deploy(query.format(pattern), "wrong")
    (found,) = wrong.warnings
    right = engine.deploy(query.format(suggested(found)), "right")
    for statement in (wrong, right):
        statement.drain()
    assert right.warnings == ()
    assert [row["card"] for row in wrong.results()] == ["quick", "slow"]
    assert [row["card"] for row in right.results()] == ["quick"]


PATTERN = "PATTERN [ EVERY a=Door -> b=Door -> c=Door WHERE timer:within(1 min) ]"


def test_check_query_explain_and_deploy_have_the_warning(engine: Engine) -> None:
    text = f"SELECT a.card FROM {PATTERN}"
    code = "GUARD_COVERS_LAST"
    assert [w.code for w in engine.check(text)] == [code]
    assert [w.code for w in engine.query(text).warnings] == [code]
    assert f"[{code}] WHERE timer:within(1 min) applies to c=Door only" in engine.explain(text)
    deployed = engine.deploy(text, "three")
    assert [w.code for w in deployed.warnings] == [code]
    assert code in deployed.explain()
    engine.execute(f"CREATE STATEMENT four AS {text}")
    assert [w.code for w in engine.deployments["four"].warnings] == [code]


def test_a_warning_is_logged_with_its_code(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    engine.execute(f"INSERT INTO Thrice SELECT a.card FROM {PATTERN}")
    (record,) = [r for r in caplog.records if getattr(r, "code", "") == "QUERY_WARNING"]
    assert record.levelname == "WARNING"
    assert "GUARD_COVERS_LAST" in record.getMessage()


@pytest.mark.parametrize(
    "file", sorted([*ROOT.glob("examples/**/*.epl"), *ROOT.glob("src/**/*.epl")]), ids=lambda f: f.name
)
def test_no_example_has_a_warning(file: Path) -> None:
    assert warnings_in(parse(file.read_text(), file.name)) == ()
