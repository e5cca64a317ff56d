"""Conditions over several rows as programs, and the machines that run them: per row, and over whole columns."""
