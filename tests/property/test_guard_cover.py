"""Brackets that a warning suggests: whatever the pattern, they parse, and leave one warning less."""

from __future__ import annotations

from hypothesis import given

from presage.analyze.warnings import warnings_in
from presage.lang import parse
from presage.lang.pattern_syntax import PatternSource
from presage.lang.print_patterns import print_pattern
from property.pattern_trees import patterns
from property.syntax_trees import literals


@given(patterns(literals))
def test_each_suggestion_parses_and_leaves_one_warning_less(source: PatternSource) -> None:
    text = print_pattern(source)
    found = warnings_in(parse(f"SELECT * FROM {text}"))
    for each in found:
        covering = each.fix.removeprefix("write ").rpartition(", or (")[0]
        left = warnings_in(parse(f"SELECT * FROM PATTERN [ {covering} ]"))
        assert len(left) == len(found) - 1
