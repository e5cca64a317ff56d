"""EPL patterns: events followed by events, with guards, repetition and negation."""

BINDS = ("pattern",)
