"""Rows of chains in, probabilities by step out. NumPy, Numba and Arrow only."""
