"""Event queries over uncertain streams: how sure are we that it happened?"""

BINDS = ("sequence", "inferred")
