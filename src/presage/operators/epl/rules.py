"""Optimizer rules for EPL patterns."""

from __future__ import annotations

from presage.operators.epl.drop_events import drop_idle_events
from presage.operators.epl.infer_keys import infer_pattern_keys
from presage.operators.epl.pick_events import pick_listed_events
from presage.optimize import Rule

RULES = (
    Rule("pick_listed_events", pick_listed_events),
    Rule("infer_pattern_keys", infer_pattern_keys),
    Rule("drop_idle_events", drop_idle_events),
)
