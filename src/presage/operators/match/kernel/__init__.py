"""Kernels of MATCH_RECOGNIZE."""
