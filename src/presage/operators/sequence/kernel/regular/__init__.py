"""Regular sequences: one automaton in product with the chains of a group, step by step."""
