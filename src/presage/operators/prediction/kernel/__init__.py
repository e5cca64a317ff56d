"""Intervals of validity of update-tuples. NumPy and Numba only."""
