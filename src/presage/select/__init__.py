"""The binder of SELECT: items of FROM, joins, grouping, output. Capabilities bind items of their own."""
