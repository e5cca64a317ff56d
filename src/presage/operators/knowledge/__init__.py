"""Knowledge: queries in the words of the domain (see README.md)."""

BINDS = ("in_plain_words",)
