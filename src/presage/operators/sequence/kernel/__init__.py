"""Kernels of sequences and of inference over arrays of chains. NumPy, Numba and Arrow only."""
