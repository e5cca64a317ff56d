"""Similarity of contexts: the past events with the most similar contexts. NumPy, Numba and Arrow only."""
