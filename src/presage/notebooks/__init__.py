"""For notebooks: `%load_ext presage` gives cells of statements, `%%epl`, and `plot` draws the rows of a result."""

from presage.notebooks.cells import load_ipython_extension
from presage.notebooks.plot import plot

__all__ = ["load_ipython_extension", "plot"]
