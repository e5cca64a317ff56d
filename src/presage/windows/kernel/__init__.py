"""Kernels of the windows room: (state, events in time order, clock) -> (state', rows). NumPy, Numba, Arrow only."""

from presage.model.numba_cache import use_user_cache

# First of all: Numba reads the name of its cache folder once, when a module of this folder imports it.
use_user_cache()
