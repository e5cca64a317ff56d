"""Prediction-based monitoring: sensors send functions of time, queries find when they match and how likely that is."""

BINDS = ("predicted",)
