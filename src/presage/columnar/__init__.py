"""Expressions of the plan over Arrow columns, without Spark: what standing statements compute batch by batch."""
