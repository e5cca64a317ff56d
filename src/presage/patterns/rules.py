"""Optimizer rules for the nodes of the patterns room."""

from __future__ import annotations

from presage.optimize import Rule
from presage.patterns.drop_events import drop_idle_events
from presage.patterns.infer_keys import infer_pattern_keys
from presage.patterns.pick_events import pick_listed_events

RULES = (
    Rule("pick_listed_events", pick_listed_events),
    Rule("infer_pattern_keys", infer_pattern_keys),
    Rule("drop_idle_events", drop_idle_events),
)
