"""Kernels of windows, aggregates over them, joins, DISTINCT and output rate. NumPy, Numba and Arrow only."""
