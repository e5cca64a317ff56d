"""Kernels of the prediction room. NumPy, Numba, Arrow only."""
