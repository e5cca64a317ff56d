"""Syntax tree -> bound, typed plan: names, types, bounds, declarations. Rooms bind their clauses with these parts."""
