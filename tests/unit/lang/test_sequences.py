"""SEQUENCE, probabilistic streams, models and inference: the trees of their texts, and what is refused."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import diagnosis, parse, parse_statement
from presage.lang import syntax as s
from presage.lang.sequence_syntax import (
    Anything,
    ConstantTerm,
    CreateModel,
    Inference,
    KleenePlus,
    Probabilistic,
    SequenceItem,
    Subgoal,
    Variable,
)


def sequence(text: str) -> SequenceItem:
    query = parse_statement(f"SELECT * FROM SEQUENCE [ {text} ]")
    assert isinstance(query, s.Query)
    assert query.items[0].sequence is not None
    return query.items[0].sequence


def stream(text: str) -> s.CreateType:
    made = parse_statement(f"CREATE STREAM At {text}")
    assert isinstance(made, s.CreateType)
    return made


def refusal(text: str) -> PresageError:
    with pytest.raises(PresageError) as raised:
        parse(text)
    assert not raised.value.others
    return raised.value


HALL = s.Call("Hall", (s.Name("l"),))
OFFICE = s.Call("Office", (s.Name("l"),))
AT = Subgoal("At", (Variable("p"), Variable("l")))


@pytest.mark.parametrize(
    ("text", "condition", "plus"),
    [
        ("At(p, l)", None, None),
        ("(At(p, l))", None, None),
        ("At(p, l) WHERE Hall(l)", HALL, None),
        ("((At(p, l) WHERE Hall(l)))", HALL, None),
        ("(At(p, l) WHERE Hall(l)) WHERE Office(l)", s.AllOf((HALL, OFFICE)), None),
        ("At(p, l)+", None, KleenePlus()),
        ("At(p, l)+{}", None, KleenePlus()),
        ("At(p, l)+{p}", None, KleenePlus(("p",))),
        ("At(p, l)+{p, l}", None, KleenePlus(("p", "l"))),
        ("At(p, l)+{| Hall(l)}", None, KleenePlus((), HALL)),
        ("At(p, l)+{p | Hall(l)}", None, KleenePlus(("p",), HALL)),
        ("(At(p, l) WHERE Office(l))+{p | Hall(l)}", OFFICE, KleenePlus(("p",), HALL)),
        ("(At(p, l) WHERE Office(l))+", OFFICE, KleenePlus()),
    ],
)
def test_a_subgoal_has_its_own_condition_and_its_plus(
    text: str, condition: s.Expr | None, plus: KleenePlus | None
) -> None:
    assert sequence(text).parts == (Subgoal("At", AT.terms, condition, plus),)


def test_a_term_is_a_variable_a_constant_or_anything() -> None:
    terms = sequence("At(p, 'joe', \"it's\", 1, -1, +1.5, -1.5, TRUE, false, _, `_`)").parts[0].terms
    assert terms == (
        Variable("p"),
        *(ConstantTerm(value) for value in ("joe", "it's", 1, -1, 1.5, -1.5, True, False)),
        Anything(),
        Variable("_"),
    )


def test_semicolons_in_the_brackets_end_no_statement() -> None:
    script = parse("SELECT p FROM SEQUENCE [ At(p, 'a') ; At(p, 'b') ; Show(p) ] WHERE p <> 'joe'; SHOW STREAMS;")
    first, second = script.statements
    assert isinstance(first, s.Query)
    assert first.items[0].sequence is not None
    assert [part.stream for part in first.items[0].sequence.parts] == ["At", "At", "Show"]
    assert second == s.Show("streams")


@pytest.mark.parametrize(("text", "by"), [("", None), ("BY MLE", "mle"), ("by Map", "map")])
def test_a_sequence_may_be_asked_of_the_likeliest_values(text: str, by: str | None) -> None:
    query = parse_statement(f"SELECT * FROM SEQUENCE [ At(p, l) ] {text} WITH PROBABILITY > 0.5")
    assert isinstance(query, s.Query)
    assert query.items[0].sequence == SequenceItem((AT,), by)


def test_every_part_of_a_sequence_knows_its_place() -> None:
    text = "SELECT * FROM SEQUENCE [ At(p, 'x') ; (At(p, l) WHERE Hall(l))+{p | Office(l)} ; B(q)+ ]"
    query = parse_statement(text)
    assert isinstance(query, s.Query)
    item = query.items[0].sequence
    assert item is not None
    one, two, three = item.parts
    assert two.plus is not None
    assert three.plus is not None
    nodes = [item, one, *one.terms, two, two.plus, three, three.plus]
    assert [text[node.span.start : node.span.end] for node in nodes] == [
        text[14:],
        "At(p, 'x')",
        "p",
        "'x'",
        "(At(p, l) WHERE Hall(l))+{p | Office(l)}",
        "{p | Office(l)}",
        "B(q)+",
        "+",
    ]
    assert [text[place.start : place.end] for place in two.plus.places] == ["p"]
    assert text[two.name_span.start : two.name_span.end] == "At"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PROBABILISTIC (location)", Probabilistic(("location",))),
        ("PROBABILISTIC (x, y)", Probabilistic(("x", "y"))),
        ("probabilistic markov (markov)", Probabilistic(("markov",), True)),
    ],
)
def test_a_stream_names_what_is_uncertain(text: str, expected: Probabilistic) -> None:
    assert stream(f"(p STRING) KEY (p) {text} EVENT TIME at").probabilistic == expected


@pytest.mark.parametrize(
    ("text", "method", "particles"),
    [
        ("(FILTER)", "filter", None),
        ("FILTER", "filter", None),
        ("smooth", "smooth", None),
        ("(VITERBI)", "viterbi", None),
        ("(PARTICLES 100)", "particles", 100),
        ("particles 1", "particles", 1),
    ],
)
def test_inference_takes_its_method_with_and_without_parentheses(text: str, method: str, particles: int | None) -> None:
    made = stream(f"FROM INFERENCE OVER Reading USING MODEL floor {text} KEY (p)")
    assert made.inference == Inference("Reading", "floor", method, particles)
    assert made.key == ("p",)


def test_a_model_is_made_from_a_file() -> None:
    assert parse_statement("create model Floor from 'floor.json'") == CreateModel("Floor", "floor.json")


@pytest.mark.parametrize(
    "word", ["sequence", "probability", "model", "filter", "error", "markov", "inference", "particles", "mle", "over"]
)
def test_words_of_probability_are_names_elsewhere(word: str) -> None:
    text = f"SELECT {word}, {word}.{word}, a.{word}[0] FROM {word} AS {word} WHERE {word} = 1 GROUP BY {word}"
    query = parse_statement(text)
    assert isinstance(query, s.Query)
    assert query.items[0].name == query.items[0].alias == word
    declared = parse_statement(f"CREATE STREAM {word} ({word} STRING) KEY ({word}) PROBABILISTIC ({word})")
    assert isinstance(declared, s.CreateType)
    assert declared.key == (word,)
    variables = sequence(f"{word}({word})+{{{word} | {word} > 1}}").parts[0]
    assert variables.terms == (Variable(word),)


def test_the_braces_name_a_variable_once() -> None:
    found = refusal("SELECT * FROM SEQUENCE [ At(p, l)+{p, l, p} ]")
    assert (found.code, found.column) == ("DUPLICATE_NAME", 42)


@pytest.mark.parametrize("number", ["0", "1.5", "1000001", "1e3"])
def test_particles_are_counted_in_whole_numbers(number: str) -> None:
    found = refusal(f"CREATE STREAM At FROM INFERENCE OVER R USING MODEL m (PARTICLES {number})")
    assert found.code == "BAD_VALUE"
    assert number in found.message


@pytest.mark.parametrize(
    "text",
    [
        "WITH PROBABILITY >= 1.5",
        "APPROXIMATE (ERROR 0)",
        "APPROXIMATE (ERROR 1.5)",
        "APPROXIMATE (CONFIDENCE 1)",
        "APPROXIMATE (ERROR 0.1, CONFIDENCE 0)",
    ],
)
def test_a_probability_that_is_none_is_refused(text: str) -> None:
    assert refusal(f"SELECT * FROM A {text}").code == "BAD_VALUE"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("(ERROR 0.1)", (0.1, 0.95)),
        ("(CONFIDENCE 0.9)", (0.05, 0.9)),
        ("(CONFIDENCE 0.9, ERROR 0.1)", (0.1, 0.9)),
    ],
)
def test_either_part_of_approximate_may_be_missing(text: str, values: tuple[float, float]) -> None:
    query = parse_statement(f"SELECT * FROM A APPROXIMATE {text}")
    assert isinstance(query, s.Query)
    assert query.approximate == s.ApproximateClause(*values)


@pytest.mark.parametrize(
    ("text", "found", "fix"),
    [
        ("At(p), At(q)", "','", "separate subgoals by ';'"),
        ("At(p) -> At(q)", "'->'", "separate subgoals by ';'"),
        ("At ; At(q)", "';'", "add '(' before ';'"),
        ("(At(p) ; At(q))+", "';'", "leave it out"),
        ("At(p)+{p} WHERE x", "'WHERE'", "write a condition on repeated events inside: (g WHERE c)+{p | d}"),
        ("At(p, f(x))", "'('", ""),
        ("At(p);", "']'", ""),
    ],
)
def test_a_wrong_sequence_is_told_what_would_be_right(
    text: str, found: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether the form can be run in this version is another question than whether it is well formed.
    monkeypatch.setattr(diagnosis, "find_unsupported_syntax", lambda text, tokens: None)
    refused = refusal(f"SELECT * FROM SEQUENCE [ {text} ]")
    assert refused.code == "SYNTAX"
    assert refused.message.startswith(f"found {found} where")
    assert refused.fix.startswith(fix)
