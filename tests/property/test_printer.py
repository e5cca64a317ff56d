"""print ∘ parse = identity, and no text brings the parser down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.lang import parse, parse_expression, parse_statement, print_expression, print_script, print_statement
from presage.lang import syntax as s
from property.pattern_trees import matches, patterns
from property.recall_trees import commands, recalled_items
from property.sequence_trees import models, sequences, uncertain_streams
from property.syntax_trees import expressions, from_items, literals, small_expressions, statements

WORDS = """
    SELECT FROM WHERE GROUP BY HAVING OUTPUT EVERY LAST WITHIN JOIN ON AS AND OR NOT IN IS NULL BETWEEN LIKE CASE WHEN
    THEN ELSE END CAST CREATE STREAM SCHEMA RELATION EVENT TIME KEY WITH VALUES INSERT INTO DISTINCT PREFIX PATTERN
    SEQUENCE PROBABILISTIC MARKOV INFERENCE MODEL PREDICTED VALIDATE TENTATIVE MAY MUST
    RECALL SIMILAR CONTEXT FINAL BEFORE AFTER ORDER LIMIT LEFT EXISTS CANCEL
    WINDOW SHOW DROP EXPLAIN ( ) [ ] { } , ; . # : * + - / % = <> < > || ? ! @ ' " ` -- /* */ a b Tick x.y
    1 1.5 1e9 5 sec min 2012-05-07T09:00 now 'text' "t" `odd` \\ é ← http://x
"""
SOUP = [*WORDS.split(), "\n"]
GOOD = (
    "SELECT a.where.room, count(*) FROM Tick(price > 5)#time(5 min) AS a JOIN B ON a.x = B.y WITHIN [now, ) "
    "WHERE x NOT IN (1, 'two') GROUP BY a.k OUTPUT LAST EVERY 1 hour 30 min; "
    "CREATE STREAM S (a ARRAY<STRUCT<x INT>>, b MAP<STRING, LONG>) INHERITS T EVENT TIME at KEY (a) WITH (k = 'v')"
)


@given(expressions)
@settings(max_examples=120)
def test_a_printed_expression_is_read_back_as_the_same_tree(tree: s.Expr) -> None:
    assert parse_expression(print_expression(tree)) == tree


@given(statements)
@settings(max_examples=80)
def test_a_printed_statement_is_read_back_as_the_same_tree(tree: s.Statement) -> None:
    assert parse_statement(print_statement(tree)) == tree


@given(st.builds(replace, from_items, name=st.just(""), condition=st.none(), pattern=patterns(small_expressions)))
@settings(max_examples=60)
def test_a_printed_pattern_is_read_back_as_the_same_tree(item: s.FromItem) -> None:
    tree = s.Query((s.SelectItem(s.Star()),), (item,))
    assert parse_statement(print_statement(tree)) == tree


@given(st.builds(replace, from_items, match=matches(small_expressions)))
@settings(max_examples=60)
def test_a_printed_match_recognize_is_read_back_as_the_same_tree(item: s.FromItem) -> None:
    tree = s.Query((s.SelectItem(s.Star()),), (item,))
    assert parse_statement(print_statement(tree)) == tree


@given(st.builds(replace, from_items, name=st.just(""), condition=st.none(), sequence=sequences(small_expressions)))
@settings(max_examples=80)
def test_a_printed_sequence_is_read_back_as_the_same_tree(item: s.FromItem) -> None:
    tree = s.Query((s.SelectItem(s.Star()),), (item,))
    assert parse_statement(print_statement(tree)) == tree


@given(recalled_items(literals))
@settings(max_examples=40)
def test_a_printed_recall_is_read_back_as_the_same_tree(item: s.FromItem) -> None:
    tree = s.Query((s.SelectItem(s.Star()),), (item,), where=s.Name("x"))
    assert parse_statement(print_statement(tree)) == tree


@given(commands)
@settings(max_examples=30)
def test_a_printed_command_to_a_recall_is_read_back_as_the_same_tree(tree: s.Statement) -> None:
    assert parse_statement(print_statement(tree)) == tree


@given(uncertain_streams | models)
@settings(max_examples=60)
def test_a_printed_declaration_of_probability_is_read_back_as_the_same_tree(tree: s.Statement) -> None:
    assert parse_statement(print_statement(tree)) == tree


@given(st.lists(statements, max_size=3))
@settings(max_examples=15)
def test_a_printed_script_is_read_back_as_the_same_statements(trees: list[s.Statement]) -> None:
    assert parse(print_script(s.Script(tuple(trees)))).statements == tuple(trees)


@given(st.lists(st.sampled_from(SOUP), max_size=25))
@settings(max_examples=120)
def test_token_soup_gives_a_tree_or_a_named_error(words: list[str]) -> None:
    reads_or_refuses(" ".join(words))


@given(st.data())
@settings(max_examples=120)
def test_a_mutated_query_gives_a_tree_or_a_named_error(data: st.DataObject) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 4))
        text = text[:start] + data.draw(st.sampled_from([*SOUP, ""])) + text[start + cut :]
    reads_or_refuses(text)


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_any_text_gives_a_tree_or_a_named_error(text: str) -> None:
    reads_or_refuses(text)


def reads_or_refuses(text: str) -> None:
    for refusal in (refusal_of(parse, text), refusal_of(parse_expression, text)):
        if refusal is not None:
            assert refusal.code != "INTERNAL"
            assert refusal.span is not None
            assert 0 <= refusal.span.start <= refusal.span.end <= len(text)
            # Names of the grammar's own are never shown.
            assert "__" not in refusal.message.replace(text, "")
            assert str(refusal)


def refusal_of(read: Callable[[str], object], text: str) -> PresageError | None:
    try:
        read(text)
    except PresageError as refusal:
        return refusal
    return None
