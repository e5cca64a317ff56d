"""Update-tuples in, intervals of validity out. NumPy and Numba only."""
