"""Predicted streams: what their rows hold, what WITH says of them, what is refused."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.model import types as t
from presage.model.catalog import Attribute, EventType, Predicted
from unit.declared import workspace

COLUMNS = "car STRING, x DOUBLE, n INT, note STRING, at TIMESTAMP"
HEAD = f"CREATE STREAM Gps ({COLUMNS}) EVENT TIME at"
GPS = f"{HEAD} KEY (car) PREDICTED (x)"


def stream(text: str, more: str = "") -> EventType:
    return workspace(f"{more} {text};").catalog.types["Gps"]


def predicted_by(text: str, more: str = "") -> Predicted:
    predicted = stream(text, more).predicted
    assert predicted is not None
    return predicted


def refusal(text: str, more: str = "") -> PresageError:
    with pytest.raises(PresageError) as raised:
        workspace(more).check(text)
    assert not raised.value.others
    return raised.value


def test_an_update_has_a_value_a_rate_and_a_threshold_for_each_predicted_attribute() -> None:
    made = stream(f"{HEAD} KEY (car) PREDICTED (n, x)")
    assert made.attributes == (
        Attribute("car", t.STRING),
        Attribute("x_value", t.DOUBLE),
        Attribute("x_rate", t.DOUBLE),
        Attribute("x_threshold", t.DOUBLE),
        Attribute("n_value", t.DOUBLE),
        Attribute("n_rate", t.DOUBLE),
        Attribute("n_threshold", t.DOUBLE),
        Attribute("note", t.STRING),
        Attribute("at", t.TIMESTAMP),
    )
    assert made.predicted is not None
    assert made.predicted.attributes == ("n", "x")


def test_without_options_values_are_exact_and_hold_until_the_next_update() -> None:
    assert predicted_by(GPS) == Predicted(("x",), (0.0,), None, "uniform", 0.5, None, "min-c")


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ("threshold = 25", Predicted(("x",), (25.0,))),
        ("threshold.x = 2.5", Predicted(("x",), (2.5,))),
        ("threshold = 25, threshold.x = 0", Predicted(("x",), (0.0,))),
        ("Threshold.X = 1", Predicted(("x",), (1.0,))),
        ("period = '1 min 30 sec'", Predicted(("x",), (0.0,), period=90_000_000)),
        ("period = 30 sec", Predicted(("x",), (0.0,), period=30_000_000)),
        ("errors = 'normal', sigma = 0.25", Predicted(("x",), (0.0,), errors="normal", sigma=0.25)),
        ("buffer = 325", Predicted(("x",), (0.0,), buffer=325)),
        ("buffer = 1, policy = 'if-full'", Predicted(("x",), (0.0,), buffer=1, policy="if-full")),
    ],
)
def test_options_say_how_far_off_and_for_how_long(options: str, made: Predicted) -> None:
    assert predicted_by(f"{GPS} WITH ({options})") == made


def test_attributes_have_the_thresholds_that_are_theirs() -> None:
    made = predicted_by(f"{HEAD} KEY (car) PREDICTED (n, x) WITH (threshold = 25, threshold.x = 5)")
    assert made.thresholds == (25.0, 5.0)


def test_options_of_any_stream_go_with_them() -> None:
    assert stream(f"{GPS} WITH (max_delay = '2 sec', threshold = 25)").max_delay == 2_000_000


def test_a_predicted_stream_may_inherit_time_and_key_from_a_schema() -> None:
    schema = "CREATE SCHEMA Moving (car STRING, at TIMESTAMP) EVENT TIME at KEY (car);"
    made = stream("CREATE STREAM Gps (x DOUBLE) INHERITS Moving PREDICTED (x)", schema)
    assert (made.key, made.event_time) == (("car",), "at")
    assert [a.name for a in made.attributes] == ["car", "at", "x_value", "x_rate", "x_threshold"]


def test_FROM_a_schema_does_not_take_functions_for_events() -> None:
    schema = "CREATE SCHEMA Moving (car STRING, at TIMESTAMP) EVENT TIME at KEY (car);"
    text = "CREATE STREAM Sure (v INT) INHERITS Moving; CREATE STREAM Gps (x DOUBLE) INHERITS Moving PREDICTED (x);"
    catalog = workspace(schema + text).catalog
    assert [found.name for found in catalog.streams_of("Moving")] == ["Sure"]


# The declaration with its mistake between ⟦ and ⟧, the code, a part of the message, a part of the fix.
MISTAKES = [
    (f"{HEAD} ⟦PREDICTED (x)⟧", "BAD_VALUE", "KEY of stream 'Gps' is missing", "add KEY"),
    (f"{HEAD} KEY (car, at) ⟦PREDICTED (x)⟧", "BAD_VALUE", "with the event time in it", "leave 'at' out of KEY"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (z)⟧", "UNKNOWN_ATTRIBUTE", "stream 'Gps' has no attribute 'z'", "known: at, car"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (nn)⟧", "UNKNOWN_ATTRIBUTE", "'nn'", "did you mean 'n'?"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (car)⟧", "BAD_VALUE", "'car' is part of KEY", "leave 'car' out of PREDICTED"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (x, at)⟧", "BAD_VALUE", "'at' is the event time", "leave 'at' out of PREDICTED"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (note)⟧", "TYPE_MISMATCH", "needs a number, found STRING", "DOUBLE"),
    (f"{HEAD} KEY (car) ⟦PREDICTED (x, n, x)⟧", "DUPLICATE_NAME", "'x' is used twice", "leave one out"),
    (f"CREATE SCHEMA Gps ({COLUMNS}) KEY (car) ⟦PREDICTED (x)⟧", "UNSUPPORTED", "on a schema", "inherit the schema"),
    (
        "CREATE STREAM Gps (z DOUBLE) INHERITS Motion KEY (camera) ⟦PREDICTED (z)⟧",
        "UNSUPPORTED",
        "inherits the stream 'Motion'",
        "inherit schemas only",
    ),
    (
        "CREATE STREAM Gps (car STRING, x DOUBLE, X_rate DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) ⟦PREDICTED (x)⟧",
        "DUPLICATE_NAME",
        "'x_rate' is used twice in stream 'Gps'",
        "leave it out of the declaration",
    ),
    (
        "CREATE STREAM Gps (car STRING, x DOUBLE, Valid_to DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) "
        "⟦PREDICTED (x)⟧",
        "DUPLICATE_NAME",
        "'Valid_to'",
        "another name",
    ),
    (
        "CREATE STREAM Gps (car STRING, probability DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) "
        "⟦PREDICTED (probability)⟧",
        "DUPLICATE_NAME",
        "'probability'",
        "another name",
    ),
    (
        "CREATE STREAM Gps (car STRING, l STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car) "
        "PROBABILISTIC (l, x) ⟦PREDICTED (x)⟧",
        "UNSUPPORTED",
        "on a probabilistic stream",
        "two streams",
    ),
    (f"{GPS} WITH (⟦threshold = -1⟧)", "BAD_VALUE", "not negative", "threshold = 0.5"),
    (f"{GPS} WITH (⟦threshold = 'wide'⟧)", "BAD_VALUE", "'wide'", "threshold = 0.5"),
    (f"{GPS} WITH (⟦threshold = TRUE⟧)", "BAD_VALUE", "a number", "threshold = 0.5"),
    (f"{GPS} WITH (⟦threshold.x = -0.5⟧)", "BAD_VALUE", "threshold.x", "threshold.x = 0.5"),
    (f"{GPS} WITH (⟦threshold.n = 1⟧)", "UNKNOWN_OPTION", "'threshold.n'", "x"),
    (f"{GPS} WITH (⟦threshold.note = 1⟧)", "UNKNOWN_OPTION", "'threshold.note'", "x"),
    (f"{GPS} WITH (⟦period = 'soon'⟧)", "BAD_DURATION", "soon", ""),
    (f"{GPS} WITH (⟦period = '0 sec'⟧)", "BAD_VALUE", "longer than nothing", "period = '30 sec'"),
    (f"{GPS} WITH (⟦errors = 'norml'⟧)", "BAD_VALUE", "one of uniform, normal", "did you mean 'normal'?"),
    (f"{GPS} WITH (errors = 'normal', ⟦sigma = 0⟧)", "BAD_VALUE", "above 0", "sigma = 0.5"),
    (f"{GPS} WITH (⟦buffer = 0⟧)", "BAD_VALUE", "a number of tuples from 1 on", "buffer = 1000"),
    (f"{GPS} WITH (⟦buffer = 2.5⟧)", "BAD_VALUE", "a number of tuples", "buffer = 1000"),
    (f"{GPS} WITH (⟦buffer = TRUE⟧)", "BAD_VALUE", "a number of tuples", "buffer = 1000"),
    (f"{GPS} WITH (⟦buffer = 4000000000⟧)", "BAD_VALUE", "a number of tuples", "buffer = 1000"),
    (f"{GPS} WITH (buffer = 5, ⟦policy = 'newest'⟧)", "BAD_VALUE", "one of min-c, if-full", "oldest"),
    (f"{GPS} WITH (⟦policy = 'oldest'⟧)", "BAD_VALUE", "without a buffer", "add buffer = n"),
    (f"{HEAD} KEY (car) WITH (⟦threshold = 5⟧)", "UNKNOWN_OPTION", "threshold", ""),
    (f"{HEAD} KEY (car) WITH (⟦buffer = 5⟧)", "UNKNOWN_OPTION", "buffer", ""),
]


@pytest.mark.parametrize(("text", "code", "message", "fix"), MISTAKES, ids=[text for text, *_ in MISTAKES])
def test_a_stream_that_cannot_be_predicted_is_refused_with_its_place_and_a_fix(
    text: str, code: str, message: str, fix: str
) -> None:
    found = refusal(text.replace("⟦", "").replace("⟧", ""))
    assert found.code == code
    assert message in found.message
    assert fix in found.fix
    assert found.fix
    assert found.span is not None
    assert found.span.start == text.index("⟦")


def test_a_predicted_stream_cannot_be_inherited() -> None:
    found = refusal("CREATE STREAM More (v INT) INHERITS Gps", f"{GPS};")
    assert found.code == "UNSUPPORTED"


def test_a_stream_may_have_the_name_of_the_clause() -> None:
    space = workspace("CREATE STREAM predicted (k STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (k) PREDICTED (x);")
    space.check("SELECT k FROM predicted; SELECT p.x FROM PREDICTED predicted AS p WHERE p.x > 1")
