"""One folder per capability: its nodes, how they are bound and compiled, its kernels."""
