"""Runs plans: stages of operators interpreted on Spark, in this process and step by step."""
