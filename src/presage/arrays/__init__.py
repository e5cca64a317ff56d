"""Arrays for the kernels of all operators: compiled loops, codes of equal values, rows of state and events.

Imports NumPy, Numba, PyArrow and the errors only; a kernel imports this package and its own folder.
"""
