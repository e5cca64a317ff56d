"""Group graph patterns: print and parse are inverse, and what we print means what was written."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from presage.model.text import Span
from presage.operators.knowledge import sparql_syntax as s
from presage.operators.knowledge.sparql_parser import parse_group
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.sparql_simplify import simplified
from property.sparql_texts import HEAD, PIECES, PREFIXES, TRIPLES, graphs, group_texts, triple_texts
from property.sparql_trees import group_trees


def parsed(text: str, start: int = 0) -> s.Group | Span:
    """The tree, or the place at which the text is refused."""
    try:
        return parse_group(text, PREFIXES, start)
    except s.SparqlError as refusal:
        return refusal.span


def ask(store: ox.Store, text: str, head: str = "") -> set[frozenset[tuple[str, str]]]:
    """The distinct solutions, as sets of what is bound."""
    solutions = store.query(f"{head} SELECT * WHERE {{ {text} }}")
    columns = [variable.value for variable in solutions.variables]
    return {
        frozenset((name, str(row[name])) for name in columns if row[name] is not None)  # type: ignore[index]
        for row in solutions
    }


def solutions_or_none(store: ox.Store, text: str, head: str = "") -> set[frozenset[tuple[str, str]]] | None:
    """The same, or None where the text is refused."""
    try:
        return ask(store, text, head)
    except SyntaxError:
        return None


def stored(graph: list[ox.Quad]) -> ox.Store:
    store = ox.Store()
    store.extend(graph)
    return store


@given(group_trees())
def test_what_is_printed_is_parsed_to_the_same_tree(tree: s.Group) -> None:
    assert parse_group(print_group(tree), {}) == tree


@given(group_trees())
def test_what_is_printed_is_taken_by_the_evaluator(tree: s.Group) -> None:
    ask(ox.Store(), print_group(tree))
    ask(ox.Store(), print_group(simplified(tree)))


@given(group_trees())
def test_simplified_leaves_no_sequence_and_no_inverse_on_top(tree: s.Group) -> None:
    simple = simplified(tree)
    # A sub-select stays as it is.
    outer = s.mapped(simple, lambda node: s.Values((), ()) if isinstance(node, s.SubSelect) else node)
    for node in s.walk(outer):
        assert not isinstance(node, s.Triple) or not isinstance(node.predicate, s.Sequence | s.Inverse)
    assert simplified(simple) == simple
    assert simple.variables() == tree.variables()
    assert s.visible(simple) == s.visible(tree)


@given(group_texts(), graphs)
def test_printed_and_simplified_have_the_solutions_of_what_was_written(text: str, graph: list[ox.Quad]) -> None:
    store = stored(graph)
    wanted = solutions_or_none(store, text, HEAD)
    tree = parsed(text)
    if isinstance(tree, Span):
        assert wanted is None
        return
    assert wanted is not None
    assert ask(store, print_group(tree)) == wanted
    assert ask(store, print_group(simplified(tree))) == wanted
    assert parse_group(print_group(tree), {}) == tree


@given(triple_texts(), graphs)
def test_triples_alone_have_the_solutions_of_what_was_written(text: str, graph: list[ox.Quad]) -> None:
    store = stored(graph)
    tree = parse_group(text, PREFIXES)
    wanted = ask(store, text, HEAD)
    assert ask(store, print_group(tree)) == wanted
    assert ask(store, print_group(simplified(tree))) == wanted


@given(st.lists(PIECES, max_size=14).map(" ".join) | st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=12))
def test_a_soup_of_tokens_is_refused_with_a_place_or_means_something(text: str) -> None:
    tree = parsed(text, 100)
    if isinstance(tree, Span):
        assert 100 <= tree.start < tree.end <= 100 + len(text) + 1
        return
    assert parse_group(print_group(tree), {}) == tree
    # What the evaluator refuses, it refuses as a text: nothing else is raised.
    solutions_or_none(ox.Store(), print_group(tree))


@given(group_texts(), st.integers(0, 200), PIECES)
def test_one_piece_too_many_is_refused_with_a_place_or_read_as_the_evaluator_reads_it(
    text: str, at: int, piece: str
) -> None:
    text = f"{text[:at]} {piece} {text[at:]}"
    tree = parsed(text)
    if isinstance(tree, Span):
        assert 0 <= tree.start < tree.end <= len(text) + 1
        return
    store = stored(TRIPLES)
    wanted = solutions_or_none(store, text, HEAD)
    assert wanted is None or solutions_or_none(store, print_group(tree)) == wanted
