"""The allow-list: every scalar function by family, as plain data. `refused` says what is not allowed, and why."""

from __future__ import annotations

from presage.analyze.function_table.collections import ARRAYS, MAPS, STRUCTS
from presage.analyze.function_table.entry import Entry
from presage.analyze.function_table.numbers import NULLS, NUMBERS
from presage.analyze.function_table.text import TEXT
from presage.analyze.function_table.time import TIME

FAMILIES: dict[str, tuple[Entry, ...]] = {
    "Numbers": NUMBERS,
    "Conditions and NULL": NULLS,
    "Texts": TEXT,
    "Time": TIME,
    "Arrays": ARRAYS,
    "Maps": MAPS,
    "Structs": STRUCTS,
}
BY_NAME: dict[str, Entry] = {name: e for entries in FAMILIES.values() for e in entries for name in e.names}
