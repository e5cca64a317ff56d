"""Arrays for the kernels of all operators: compiled loops, codes of equal values, rows of state and events.

Imports NumPy, Numba, PyArrow and the errors only; a kernel imports this package and its own folder.
"""

from presage.model.numba_cache import use_user_cache

# First: Numba reads the name of its cache folder when it is imported, and all loops import this package.
use_user_cache()
