"""Binds SELECT: scopes, items of FROM, joins, grouping and output; capabilities bring items of their own."""
