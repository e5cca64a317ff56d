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
    ("text", "window"),
    [
        ("SELECT u FROM T#session(1 min) GROUP BY u", "#session(1 min, u)"),
        ("SELECT u FROM T#session(1 min, u) GROUP BY u, t.p, q", "#session(1 min, u, t.p, q)"),
        ("SELECT t.p AS q FROM T#session(1 min, u) AS t GROUP BY u, q", "#session(1 min, u, t.p)"),
        ("SELECT u FROM T#session(1 min, upper(u)) GROUP BY u", "#session(1 min, upper(u), u)"),
        ("SELECT 1 FROM PATTERN [ a=T ]#session(1 min, a.u) GROUP BY a.v", "#session(1 min, a.u, a.v)"),
        ("CREATE STATEMENT x AS SELECT u FROM T#win:session(1 min) GROUP BY u", "#session(1 min, u)"),
        ("SELECT u FROM T#session(1 min, u) GROUP BY u", None),
        ("SELECT u FROM T#session(1 min, t.u) AS t GROUP BY u, upper(t.u), 1", None),
        ("SELECT upper(u) AS v FROM T#session(1 min, u) GROUP BY v", None),
        ("SELECT count(*) AS n FROM T#session(1 min)", None),
    ],
)
def test_groups_that_are_no_keys_of_their_session_are_told_with_the_window_of_each(text: str, window: str) -> None:
    found = warnings_in(parse(text))
    assert [each.code for each in found] == (["SESSION_OF_ALL_GROUPS"] if window else [])
    assert all(each.fix.startswith(f"write {window} ") for each in found)


@pytest.mark.parametrize(
    ("text", "hinted"),
    [
        ("SELECT card, count(*) AS n FROM Door GROUP BY card", True),
        ("SELECT card, count(*) AS n FROM Door WITHIN [2024-03-01, 2024-03-02) GROUP BY card", True),
        ("SELECT card, count(*) AS n FROM Door GROUP BY card OUTPUT LAST", False),
        ("SELECT card, count(*) AS n FROM Door GROUP BY card OUTPUT LAST EVERY 1 min", False),
        ("SELECT card, count(*) AS n FROM Door#time(1 min) GROUP BY card", False),
        ("SELECT card, count(*) AS n FROM Door#tumble(1 min) GROUP BY card", False),
        ("SELECT count(*) AS n FROM Door", False),
    ],
)
def test_a_bounded_group_by_without_output_has_a_hint_that_a_deployed_one_has_not(
    engine: Engine, text: str, hinted: bool
) -> None:
    found = engine.check(text)
    assert [each.code for each in found] == ["ROW_PER_EVENT"] * hinted
    assert [each.code for each in engine.query(text).warnings] == ["ROW_PER_EVENT"] * hinted
    assert all("OUTPUT LAST" in each.fix for each in found)
    if "LAST" not in text.split():
        assert engine.deploy(text, "counts").warnings == ()


@pytest.mark.parametrize(
    "file", sorted([*ROOT.glob("examples/**/*.epl"), *ROOT.glob("src/**/*.epl")]), ids=lambda f: f.name
)
def test_no_example_has_a_warning(file: Path) -> None:
    assert warnings_in(parse(file.read_text(), file.name)) == ()
