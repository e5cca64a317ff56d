"""One entry of the table of functions. Plain data, so that `presage check` starts fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A function. The first of `names` is Spark's, which plans use; the others are aliases.

    `forms` are signatures (see `signatures`), tried in order. `constants`: the arguments that must be constants, with
    their kind (see `constant_arguments`): Spark requires it, or a bad value would only fail in the job.

    `columnar` and `catalyst` are the implementations of an extension (see `register_function`); those of built-in
    functions are in the tables of `functions.columnar` and `functions.catalyst`, which load NumPy and Spark.
    """

    names: tuple[str, ...]
    forms: tuple[str, ...]
    says: str
    constants: Mapping[int, str] = field(default_factory=dict)
    columnar: Callable[..., Any] | None = None
    catalyst: Callable[..., Any] | None = None


def entry(names: str, forms: str, says: str, **constants: str) -> Entry:
    """`entry("ceil ceiling", "LONG -> LONG | DOUBLE -> LONG", "…", arg1="regex")`."""
    kinds = {int(key.removeprefix("arg")): kind for key, kind in constants.items()}
    return Entry(tuple(names.split()), tuple(form.strip() for form in forms.split("|")), says, kinds)
