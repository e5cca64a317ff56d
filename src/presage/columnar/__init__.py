"""Evaluation of plan expressions over Arrow columns, without Spark."""
