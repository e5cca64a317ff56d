"""Intervals of validity: merged, kept open between steps, ordered and made rows."""
