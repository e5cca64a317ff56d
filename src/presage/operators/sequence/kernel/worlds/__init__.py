"""Sequences of any class by their worlds: all that differ, random ones, or the most likely one."""
