"""The first goals of a safe plan where each reads a single chain: tables by chain and step, no joint values."""
