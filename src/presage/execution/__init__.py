"""Execution of plans: the operator contract, and interpreters of stages on Spark, on files and step by step."""
