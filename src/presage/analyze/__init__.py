"""Syntax tree -> bound, typed plan: names, types, bounds, declarations. Rooms bind their own clauses with these parts."""
