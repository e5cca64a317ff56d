"""Probabilistic streams, models and inference: what is declared, what is refused, what uses what."""

from __future__ import annotations

from pathlib import Path

import pytest

from presage.declarations.derived_streams import reads
from presage.errors import PresageError
from presage.lang import parse
from presage.lang import syntax as s
from presage.model import types as t
from presage.model.catalog import Attribute, Catalog, EventType, InferredFrom, Model, Uncertain
from presage.workspace import Workspace
from unit.declared import NOW, workspace

HEAD = "CREATE STREAM At (person STRING, place STRING, floor INT, at TIMESTAMP) EVENT TIME at"
READING = "CREATE STREAM Reading (person STRING, antenna STRING, at TIMESTAMP) EVENT TIME at KEY (person);"
ROW = "CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)"
FROM = "FROM INFERENCE OVER Reading USING MODEL floor"
FLOOR = """{"states": ["hall", "läb"], "transition": [[0.9, 0.1], [0.1, 0.9]],
 "emission": {"kind": "discrete", "table": {"hall": {"A": 0.5}, "läb": {}}}}"""


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    (tmp_path / "floor.json").write_text(FLOOR, encoding="utf-8")
    made = Workspace([tmp_path], tmp_path, now=lambda: NOW)
    made.check(f"{READING} CREATE MODEL floor FROM 'floor.json';")
    return made


def stream(text: str, more: str = "") -> EventType:
    return workspace(more + text).catalog.types["At"]


def refusal(space: Workspace, text: str) -> PresageError:
    with pytest.raises(PresageError) as raised:
        space.check(text)
    assert not raised.value.others
    return raised.value


def test_the_rows_of_a_probabilistic_stream_have_a_probability() -> None:
    made = stream(f"{HEAD} KEY (person) PROBABILISTIC (floor, place);")
    assert made.probabilistic == Uncertain(("floor", "place"))
    assert made.attributes[4:] == (Attribute("probability", t.DOUBLE),)
    assert [a.name for a in made.declared] == ["person", "place", "floor", "at"]
    assert [a.name for a in made.positional] == ["person", "place", "floor"]


def test_those_of_a_markov_stream_also_have_what_was_before() -> None:
    made = stream(f"{HEAD} KEY (person) PROBABILISTIC MARKOV (floor, place);")
    assert made.probabilistic == Uncertain(("floor", "place"), markov=True)
    assert made.attributes[4:] == (
        Attribute("probability", t.DOUBLE),
        Attribute("prev_floor", t.INT),
        Attribute("prev_place", t.STRING),
    )
    assert [a.name for a in made.positional] == ["person", "place", "floor"]


def test_attributes_of_a_certain_stream_are_the_declared_ones() -> None:
    made = stream(f"{HEAD};")
    assert made.declared == made.attributes
    assert [a.name for a in made.positional] == ["person", "place", "floor"]


def test_a_probabilistic_stream_may_inherit_time_and_key_from_a_schema() -> None:
    schema = "CREATE SCHEMA Tag (person STRING, at TIMESTAMP) EVENT TIME at KEY (person);"
    made = stream("CREATE STREAM At (place STRING) INHERITS Tag PROBABILISTIC (place);", schema)
    assert (made.key, made.event_time) == (("person",), "at")
    assert [a.name for a in made.positional] == ["person", "place"]


def test_FROM_a_schema_does_not_take_alternatives_for_events() -> None:
    schema = "CREATE SCHEMA Tag (person STRING, at TIMESTAMP) EVENT TIME at KEY (person);"
    streams = (
        "CREATE STREAM Sure (x INT) INHERITS Tag; CREATE STREAM At (place STRING) INHERITS Tag PROBABILISTIC (place);"
    )
    catalog = workspace(schema + streams).catalog
    assert [found.name for found in catalog.streams_of("Tag")] == ["Sure"]
    assert "At" not in [found.name for found in catalog.streams_of("Event")]
    assert [found.name for found in catalog.streams_of("At")] == ["At"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (f"{HEAD} PROBABILISTIC (place, floor)", "BAD_VALUE", "KEY of stream 'At' is missing"),
        (f"{HEAD} KEY (person, at) PROBABILISTIC (place, floor)", "BAD_VALUE", "with the event time in it"),
        (f"{HEAD} KEY (person) PROBABILISTIC (palce, floor)", "UNKNOWN_ATTRIBUTE", "no attribute 'palce'"),
        (f"{HEAD} KEY (person) PROBABILISTIC (place, person)", "BAD_VALUE", "'person' is part of KEY"),
        (f"{HEAD} KEY (person) PROBABILISTIC (place, at)", "BAD_VALUE", "'at' is the event time"),
        (f"{HEAD} KEY (person) PROBABILISTIC (place, floor, place)", "DUPLICATE_NAME", "'place' is used twice"),
        (f"{HEAD} KEY (person) PROBABILISTIC (place)", "BAD_VALUE", "'floor' of stream 'At' is neither in KEY nor"),
        ("CREATE SCHEMA At (p STRING, l STRING) KEY (p) PROBABILISTIC (l)", "UNSUPPORTED", "on a schema"),
        (
            "CREATE STREAM At (p STRING, Probability DOUBLE, at TIMESTAMP) EVENT TIME at KEY (p) "
            "PROBABILISTIC (Probability)",
            "DUPLICATE_NAME",
            "'Probability' is used twice in stream 'At'",
        ),
        (
            "CREATE STREAM At (p STRING, l STRING, prev_L STRING, at TIMESTAMP) EVENT TIME at KEY (p) "
            "PROBABILISTIC MARKOV (l, prev_L)",
            "DUPLICATE_NAME",
            "'prev_L' is used twice in stream 'At'",
        ),
        (
            "CREATE STREAM At (p STRING, l ARRAY<STRING>, at TIMESTAMP) EVENT TIME at KEY (p) PROBABILISTIC (l)",
            "TYPE_MISMATCH",
            "needs a plain type, found ARRAY<STRING>",
        ),
        (
            "CREATE STREAM At (l STRING) INHERITS Motion KEY (camera) PROBABILISTIC (l, x, y, n)",
            "UNSUPPORTED",
            "on a stream that inherits the stream 'Motion'",
        ),
    ],
)
def test_a_stream_that_cannot_be_probabilistic_is_refused(text: str, code: str, message: str) -> None:
    found = refusal(workspace(), text)
    assert found.code == code
    assert message in found.message
    assert found.fix
    assert found.line == 1


def test_names_of_what_was_before_clash_only_where_there_is_a_before() -> None:
    text = """CREATE STREAM At (p STRING, l STRING, prev_l STRING, at TIMESTAMP) EVENT TIME at KEY (p)
        PROBABILISTIC (l, prev_l);"""
    assert len(stream(text).attributes) == 5


def test_a_probabilistic_stream_cannot_be_inherited() -> None:
    found = refusal(workspace(f"{ROW} PROBABILISTIC (place);"), "CREATE STREAM More (x INT) INHERITS At")
    assert (found.code, found.message) == ("UNSUPPORTED", "INHERITS At is not supported because its rows are uncertain")


# -- models and inference ---------------------------------------------------------------------------


def test_a_model_is_known_by_its_file_and_what_it_says(home: Workspace, tmp_path: Path) -> None:
    path = str(tmp_path / "floor.json")
    assert home.catalog.models == {"floor": Model("floor", path, FLOOR)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE MODEL Reading FROM 'floor.json'", "ALREADY_DECLARED"),
        ("CREATE STREAM floor (at TIMESTAMP) EVENT TIME at", "ALREADY_DECLARED"),
        ("INSERT INTO floor SELECT * FROM Reading", "NOT_A_STREAM"),
        ("SELECT * FROM floor", "NOT_A_STREAM"),
        ("CREATE MODEL other FROM 'none.json'", "FILE_NOT_FOUND"),
        ("CREATE MODEL other FROM '../none.json'", "PATH_OUTSIDE_ROOTS"),
        ("CREATE MODEL other FROM '.'", "FILE_UNREADABLE"),
        ("DROP MODEL flor", "UNKNOWN_OBJECT"),
        ("DROP STREAM floor", "UNKNOWN_OBJECT"),
        ("DESCRIBE flor", "UNKNOWN_STREAM"),
    ],
)
def test_what_is_wrong_with_a_model_is_told(home: Workspace, text: str, code: str) -> None:
    assert refusal(home, text).code == code


def test_a_model_that_is_no_text_is_unreadable(home: Workspace, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_bytes(b"\xff\xfe\x00")
    assert refusal(home, "CREATE MODEL other FROM 'broken.json'").code == "FILE_UNREADABLE"


@pytest.mark.parametrize(
    ("clauses", "markov", "made"),
    [
        (f"{FROM} (FILTER)", False, InferredFrom("Reading", "floor", "filter")),
        (f"{FROM} SMOOTH", True, InferredFrom("Reading", "floor", "smooth")),
        (f"PROBABILISTIC (place) {FROM} SMOOTH", False, InferredFrom("Reading", "floor", "smooth")),
        (f"PROBABILISTIC MARKOV (place) {FROM} SMOOTH", True, InferredFrom("Reading", "floor", "smooth")),
        (f"{FROM} VITERBI", False, InferredFrom("Reading", "floor", "viterbi")),
        (f"{FROM} (PARTICLES 50)", False, InferredFrom("Reading", "floor", "particles", 50)),
    ],
)
def test_inference_makes_a_probabilistic_stream(
    home: Workspace, clauses: str, markov: bool, made: InferredFrom
) -> None:
    home.check(f"{ROW} {clauses}")
    stream = home.catalog.types["At"]
    assert stream.inference == made
    assert stream.probabilistic == Uncertain(("place",), markov)
    assert ("prev_place" in [a.name for a in stream.attributes]) == markov


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (f"{ROW} FROM INFERENCE OVER Readings USING MODEL floor FILTER", "UNKNOWN_STREAM", "'Readings'"),
        (f"{ROW} FROM INFERENCE OVER Reading USING MODEL flor FILTER", "UNKNOWN_OBJECT", "no model named 'flor'"),
        (f"{ROW} FROM INFERENCE OVER Event USING MODEL floor FILTER", "NOT_A_STREAM", "'Event' is a schema"),
        (f"{ROW} PROBABILISTIC MARKOV (place) {FROM} FILTER", "UNSUPPORTED", "PROBABILISTIC MARKOV"),
        (f"{HEAD} KEY (person) {FROM} FILTER", "BAD_VALUE", "with the uncertain attributes place, floor"),
        (f"{HEAD} KEY (person) PROBABILISTIC (place, floor) {FROM} FILTER", "BAD_VALUE", "attributes place, floor"),
        (
            f"CREATE STREAM At (person STRING, at TIMESTAMP) EVENT TIME at KEY (person) {FROM} FILTER",
            "BAD_VALUE",
            "without an uncertain attribute",
        ),
        (
            f"CREATE STREAM At (who STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (who) {FROM} FILTER",
            "TYPE_MISMATCH",
            "needs the key of 'Reading', (person STRING), found (who STRING)",
        ),
        (
            f"CREATE STREAM At (person INT, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) {FROM} FILTER",
            "TYPE_MISMATCH",
            "found (person INT)",
        ),
    ],
)
def test_inference_that_does_not_fit_is_refused(home: Workspace, text: str, code: str, message: str) -> None:
    found = refusal(home, text)
    assert found.code == code
    assert message in found.message


def test_inference_takes_certain_readings(home: Workspace) -> None:
    home.check(f"{ROW} PROBABILISTIC (place)")
    again = "CREATE STREAM B (person STRING, x STRING, at TIMESTAMP) EVENT TIME at KEY (person)"
    found = refusal(home, f"{again} FROM INFERENCE OVER At USING MODEL floor FILTER")
    assert found.code == "UNSUPPORTED"


@pytest.mark.parametrize("text", ["DROP MODEL floor", "DROP STREAM Reading"])
def test_what_a_stream_is_inferred_from_cannot_go_before_it(home: Workspace, text: str) -> None:
    home.check(f"{ROW} {FROM} FILTER")
    found = refusal(home, text)
    assert (found.code, found.fix) == ("IN_USE", "drop 'At' first")
    home.check(f"DROP STREAM At; {text}")


def test_a_stream_that_a_derived_one_shows_cannot_go(home: Workspace) -> None:
    home.check(f"{ROW} PROBABILISTIC (place); INSERT INTO Likely SELECT * FROM At WHERE probability > 0.5")
    assert refusal(home, "DROP STREAM At").code == "IN_USE"


@pytest.mark.parametrize(
    "text", ["* FROM At", "person, a.probability AS c FROM At a", "person FROM At WHERE probability >= 0.9"]
)
def test_alternatives_become_a_stream_with_their_probability_or_by_it(home: Workspace, text: str) -> None:
    home.check(f"{ROW} PROBABILISTIC (place); INSERT INTO Likely SELECT {text}")
    assert home.catalog.types["Likely"].probabilistic is None


def test_a_stream_made_by_inference_is_not_loaded(home: Workspace) -> None:
    home.check(f"{ROW} {FROM} FILTER")
    with pytest.raises(PresageError) as raised:
        home.loadable("At")
    assert raised.value.code == "UNSUPPORTED"
    assert "load 'Reading'" in raised.value.fix


def test_what_was_accepted_is_declared_again_without_its_file(home: Workspace, tmp_path: Path) -> None:
    (tmp_path / "floor.json").unlink()
    other = Workspace([], tmp_path, catalog=Catalog())
    (statement,) = parse("CREATE MODEL floor FROM 'floor.json'").statements
    assert other.declare(statement, again=True).models["floor"].text == ""


# -- asking -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT * FROM At#time(5 min)", "a window"),
        ("SELECT * FROM At MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS place = 'x')", "MATCH_RECOGNIZE"),
        ("SELECT * FROM PATTERN [ a=At ]", "PATTERN […]"),
        ("SELECT * FROM PATTERN [ EVERY m=Motion -> NOT At AND Motion ]", "PATTERN […]"),
        ("SELECT a.place FROM Motion#keepall m, At a", "a join"),
        ("SELECT a.place FROM At a JOIN Motion#keepall m ON a.at = m.at", "a join"),
        ("INSERT INTO Sure SELECT person, place FROM At WHERE place <> 'x'", "INSERT INTO without the probability"),
    ],
)
def test_alternatives_are_not_taken_for_events(text: str, what: str) -> None:
    found = refusal(workspace(f"{ROW} PROBABILISTIC (place);"), text)
    assert found.message == f"{what} is not supported over the probabilistic stream 'At'"
    assert found.fix.startswith("ask FROM SEQUENCE [ At(person, place) ; … ]")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT * FROM At", ["person", "place", "at", "probability", "prev_place"]),
        ("SELECT place FROM At WHERE probability > 0.5", ["place", "at"]),
        ("SELECT a.place, p.floor FROM At a, Place p WHERE a.place = p.camera", ["place", "floor", "at"]),
    ],
)
def test_a_plain_select_shows_the_rows_as_they_are(text: str, columns: list[str]) -> None:
    (query,) = parse(text).statements
    assert isinstance(query, s.Query)
    bound = workspace(f"{ROW} PROBABILISTIC MARKOV (place);").bind(query)
    assert [column.name for column in bound.columns] == columns


def test_nothing_is_inserted_into_a_probabilistic_stream() -> None:
    space = workspace(f"{ROW} PROBABILISTIC (place);")
    found = refusal(space, "INSERT INTO At SELECT camera AS person, 'x' AS place, 0.5 AS probability FROM Motion")
    assert (found.code, found.message) == ("UNSUPPORTED", "INSERT INTO At is not supported because it is probabilistic")


def test_a_sequence_reads_its_streams_and_relations() -> None:
    (query,) = parse("SELECT p FROM SEQUENCE [ At(p, 'a') ; B(p, l)+{p | Hall(l)} ] WHERE Person(p)").statements
    assert isinstance(query, s.Query)
    assert [name for name in ("At", "B", "Hall", "Person", "C", "p") if reads(query, name)] == [
        "At",
        "B",
        "Hall",
        "Person",
    ]


def test_a_stream_may_have_the_name_of_a_model_in_another_case(home: Workspace) -> None:
    home.check("CREATE STREAM Floor (at TIMESTAMP) EVENT TIME at")
    assert ("floor" in home.catalog.models, "Floor" in home.catalog.types) == (True, True)
