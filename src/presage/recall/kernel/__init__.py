"""Contexts of events in, the past events with the most similar contexts out. NumPy, Numba and Arrow only."""
