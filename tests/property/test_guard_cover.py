"""Brackets that a warning suggests: whatever the pattern, they parse, and leave one warning less."""

from __future__ import annotations

from hypothesis import example, given

from presage.lang import parse
from presage.lang import pattern_syntax as p
from presage.lang.print_patterns import print_pattern
from presage.select.warnings import warnings_in
from property.pattern_trees import patterns
from property.syntax_trees import literals


def within(operand: p.PatternTerm) -> p.TimerGuard:
    return p.TimerGuard(operand, "timer:within", ())


A, B, C = (p.EventTerm(name) for name in "ABC")
STEPS = p.FollowedBy((A, B, within(C)), (None, None))


# Brackets around the steps stay: their guard does not reach to the left of them.
@example(p.PatternSource(p.RepeatTerm(A, None, None, STEPS)))
@example(p.PatternSource(p.FollowedBy((A, B, p.AndTerm((A, within(p.NotTerm(C))))), (None, None))))
@example(p.PatternSource(p.AndTerm((A, p.FollowedBy((STEPS, B, within(C)), (None, None))))))
@given(patterns(literals))
def test_each_suggestion_parses_and_leaves_one_warning_less(source: p.PatternSource) -> None:
    text = print_pattern(source)
    found = warnings_in(parse(f"SELECT * FROM {text}"))
    for each in found:
        covering = each.fix.removeprefix("write ").rpartition(", or (")[0]
        left = warnings_in(parse(f"SELECT * FROM PATTERN [ {covering} ]"))
        assert len(left) == len(found) - 1
