"""The allow-list of scalar functions, by family, as plain data: names, signatures, meaning.

The implementations are apart, in `functions/columnar` (NumPy and Arrow) and `functions/catalyst` (Spark), so that
`presage check` loads neither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from presage.functions.extension import calling_module, own_name
from presage.functions.scalars.collections import ARRAYS, MAPS, STRUCTS
from presage.functions.scalars.entry import Entry, entry
from presage.functions.scalars.numbers import NULLS, NUMBERS
from presage.functions.scalars.text import TEXT
from presage.functions.scalars.time import TIME

FAMILIES: dict[str, tuple[Entry, ...]] = {
    "Numbers": NUMBERS,
    "Conditions and NULL": NULLS,
    "Strings": TEXT,
    "Time": TIME,
    "Arrays": ARRAYS,
    "Maps": MAPS,
    "Structs": STRUCTS,
}
BY_NAME: dict[str, Entry] = {name: e for entries in FAMILIES.values() for e in entries for name in e.names}


def register_function(
    names: str,
    forms: str,
    says: str,
    *,
    value: Callable[..., Any] | None = None,
    columnar: Callable[..., Any] | None = None,
    catalyst: Callable[..., Any] | None = None,
    family: str = "Extensions",
    **constants: str,
) -> None:
    """Adds a scalar function: `register_function("initials", "STRING -> STRING", "first letters", value=initials)`.

    Either `value`, a function of Python values, called once for each distinct value and never for null; or `columnar`,
    which makes the kernel of a call (see `functions.columnar.call`). Optionally `catalyst`, which makes the Spark
    column of a call (see `functions.catalyst.call`); without it Spark's workers run the other. `names`, `forms` and
    `constants`: see `entry`.
    """
    if (value is None) == (columnar is None):
        raise TypeError("register_function takes either value or columnar")
    module, known = calling_module(), [name for e in BY_NAME.values() for name in e.names]
    made = entry(names, forms, says, **constants)
    own = tuple(own_name(name, module, known) for name in made.names)
    made = replace(made, names=own, columnar=columnar or _ByValue(value), catalyst=catalyst)
    FAMILIES[family] = (*(e for e in FAMILIES.get(family, ()) if e.names[0] != made.names[0]), made)
    BY_NAME.update(dict.fromkeys(made.names, made))


class _ByValue:
    """The columnar implementation of a function of single values."""

    def __init__(self, value: Callable[..., Any] | None) -> None:
        self._value = value

    def __call__(self, call: Any) -> Any:
        from presage.functions.columnar.call import by_value

        assert self._value is not None
        return by_value(self._value)(call)
