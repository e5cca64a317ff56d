"""Evaluation of sequences of any class over possible worlds: all distinct ones, random ones, or the most likely one."""
