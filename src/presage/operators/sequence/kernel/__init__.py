"""Loops and states of sequences: facts of chains as arrays, evaluated by class. NumPy, Numba and Arrow only."""
