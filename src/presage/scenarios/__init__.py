"""Scenarios: events, the clock and expected rows, so that people test their own rules without Spark."""

from presage.scenarios.runner import Outcome, run_scenarios

__all__ = ["Outcome", "run_scenarios"]
