"""Optimizer rules, one function and one file each. Capabilities add rules for their own nodes."""

from presage.optimize.fold_constants import fold_constants
from presage.optimize.prune_columns import prune_columns
from presage.optimize.push_filters import push_filters
from presage.optimize.rule import Optimized, Rule, optimize

FOLD_CONSTANTS = Rule("fold_constants", fold_constants)
PUSH_FILTERS = Rule("push_filters", push_filters)
PRUNE_COLUMNS = Rule("prune_columns", prune_columns)

__all__ = ["FOLD_CONSTANTS", "PRUNE_COLUMNS", "PUSH_FILTERS", "Optimized", "Rule", "optimize"]
