"""The table of functions in, docs/language/functions.md out; with --check it only says whether the page is fresh."""

from __future__ import annotations

import sys
from pathlib import Path

from presage.functions.aggregates import COUNTS_ONCE, IDLE, REFUSED, aggregates
from presage.functions.scalars import FAMILIES

PAGE = Path(__file__).parents[1] / "docs" / "language" / "functions.md"
HEAD = """\
# Functions

Scalar functions are Spark SQL's, by name, from a list: nothing that reads files, runs code or gives another value each
time. Names may be written in any case. A null argument gives null, unless the table says otherwise.

In the forms, `?` marks an argument that may be left out, `+` one that may be repeated and `*` one that may be repeated
or absent. `T U V` stand for any type, `O X` for one with an order, `K` for the key of a map, `N` for a number, `I` for
an integer. A letter that occurs twice is one type, except `X`.

[Regular expressions](regular-expressions.md) have a page of their own.

## Aggregates

Over the events of a window, a group or a match: see [queries](queries.md). Unless said otherwise they skip nulls, and
are null over no value.

| aggregate | with DISTINCT | what it gives |
|---|---|---|
"""
DISTINCT = {REFUSED: "no", IDLE: "the same", COUNTS_ONCE: "yes"}


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    parts = [HEAD, *(f"| `{a.name}` | {DISTINCT[a.distinct]} | {cell(a.says)} |\n" for a in aggregates())]
    for family, entries in FAMILIES.items():
        parts.append(f"\n## {family}\n\n| function | form | what it gives |\n|---|---|---|\n")
        for entry in sorted(entries, key=lambda entry: entry.names[0]):
            names = ", ".join(f"`{name}`" for name in entry.names)
            forms = "<br>".join(f"`{cell(form)}`" for form in entry.forms)
            parts.append(f"| {names} | {forms} | {cell(entry.says)} |\n")
    return "".join(parts)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        print(
            f"{PAGE.name} is not what the table of functions says; run: python scripts/functions_page.py",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
