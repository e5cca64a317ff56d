"""Builders of syntax nodes from the parts of a grammar rule; one module per grammar file."""
