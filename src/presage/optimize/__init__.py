"""Optimizer rules, one function and one file each. Capabilities add rules for their own nodes."""

from collections.abc import Iterable

from presage.optimize.fold_constants import fold_constants
from presage.optimize.keep_time import keep_time
from presage.optimize.prune_columns import prune_columns
from presage.optimize.push_filters import push_filters
from presage.optimize.rule import Optimized, Rule, optimize

_FIRST = (Rule("fold_constants", fold_constants),)
_NEXT = Rule("keep_time", keep_time), Rule("push_filters", push_filters), Rule("prune_columns", prune_columns)


def in_order(rules: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """All rules in the order in which they apply; `rules` are those of capabilities."""
    given = tuple(rules)
    return (*_FIRST, *(r for r in given if r.early), *_NEXT, *(r for r in given if not r.early))


__all__ = ["Optimized", "Rule", "in_order", "optimize"]
