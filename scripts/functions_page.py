"""The table of functions in, docs/language/functions.md out; with --check it only says whether the page is fresh."""

from __future__ import annotations

import sys
from pathlib import Path

from presage.functions.aggregates import COUNTS_ONCE, IDLE, REFUSED, aggregates
from presage.functions.scalars import FAMILIES
from presage.functions.scalars.refused import REFUSED as REFUSED_FUNCTIONS

PAGE = Path(__file__).parents[1] / "docs" / "language" / "functions.md"
HEAD = """\
# Functions

All aggregates and scalar functions. Scalar functions have the names of Spark SQL and, unless the table says otherwise,
its results. Functions that read files, run code or are random are [refused](#refused-functions).

```sql
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;

SELECT upper(sym) AS sym, round(avg(price), 2) AS mean FROM Tick#time(5 min) GROUP BY sym;
```

- Names may be written in any case.
- A null argument gives null, unless the table says otherwise.
- [Regular expressions](regular-expressions.md) describes the patterns of `regexp_…`, `rlike` and `split`.
- Patterns of times are Spark's: `yyyy-MM-dd HH:mm:ss`. All times are UTC.

## Aggregates

Aggregates apply to the events of a window, a group or a match: see [Queries](queries.md). Unless the table says
otherwise they skip nulls, and are null if there is no value. Measures of `MATCH_RECOGNIZE` have
`array_agg`, `any_value`, `max_by` and `min_by`, too: [MATCH_RECOGNIZE](../capabilities/match-recognize.md).

| aggregate | DISTINCT | result |
|---|---|---|
"""
FORMS = """
## Reading the forms

The tables below list each scalar function with its forms: argument types, then the type of the result.

| in a form | meaning |
|---|---|
| `?` | the argument may be left out |
| `+` | the argument may be repeated |
| `*` | the argument may be repeated or left out |
| `N`, `I` | a number; an integer |
| `O`, `X` | a type with an order |
| `K` | a type of map keys |
| `T`, `U`, `V` | any type |

A letter that occurs twice in a form is one type, except `X`.
"""
REFUSED_HEAD = """
## Refused functions

These functions of Spark are refused (`FUNCTION_NOT_ALLOWED`), for the reason given:

| reason | functions |
|---|---|
"""
DISTINCT = {REFUSED: "no", IDLE: "no effect", COUNTS_ONCE: "yes"}


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    parts = [HEAD, *(f"| `{a.name}` | {DISTINCT[a.distinct]} | {cell(a.says)} |\n" for a in aggregates()), FORMS]
    for family, entries in FAMILIES.items():
        parts.append(f"\n## {family}\n\n| function | form | result |\n|---|---|---|\n")
        for entry in sorted(entries, key=lambda entry: entry.names[0]):
            names = ", ".join(f"`{name}`" for name in entry.names)
            forms = "<br>".join(f"`{cell(form)}`" for form in entry.forms)
            parts.append(f"| {names} | {forms} | {cell(entry.says)} |\n")
    parts.append(REFUSED_HEAD)
    for why in dict.fromkeys(REFUSED_FUNCTIONS.values()):
        names = ", ".join(f"`{name}`" for name, reason in sorted(REFUSED_FUNCTIONS.items()) if reason == why)
        parts.append(f"| {cell(why)} | {names} |\n")
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
