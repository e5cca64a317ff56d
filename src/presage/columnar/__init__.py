"""Expressions of the plan over Arrow columns, without Spark: what running statements compute for each batch."""
