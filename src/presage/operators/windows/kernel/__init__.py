"""Kernels of the windows room: (state, events in time order, clock) -> (state', rows). NumPy, Numba, Arrow only."""
