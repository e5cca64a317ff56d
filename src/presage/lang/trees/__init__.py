"""Builders: the parts of one grammar rule in, its node of the syntax tree out; one module per grammar file."""
