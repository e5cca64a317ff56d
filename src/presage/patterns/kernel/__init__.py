"""Kernels of the patterns room: tables of a statement and rows in processing order in, matches out.

Nothing here is compiled per statement: an automaton, a network and the conditions over several rows are tables that
compiled loops read.
"""
