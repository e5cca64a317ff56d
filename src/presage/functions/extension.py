"""Names of extensions: texts that make Spark's Python workers import the module that registered them.

Plans and kernels refer to functions, aggregates and windows by name, and are pickled. Unpickling the name of an
extension imports its module, so that the worker's tables have it too. The module must be importable on the worker.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable

from presage.errors import error


class ExtensionName(str):
    """A name, and the module that registered it."""

    module: str

    def __new__(cls, name: str, module: str) -> ExtensionName:
        made = super().__new__(cls, name)
        made.module = module
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return _imported, (str(self), self.module)


def _imported(name: str, module: str) -> ExtensionName:
    importlib.import_module(module)
    return ExtensionName(name, module)


def calling_module() -> str:
    """The module that calls the caller of this function: the one that registers."""
    return str(sys._getframe(2).f_globals["__name__"])


def own_name(name: str, module: str, taken: Iterable[str]) -> str:
    """The name to register. A name in `taken` is refused if another module owns it; a module that is loaded again may
    register its own."""
    before = next((each for each in taken if each == name), None)
    if before is not None and getattr(before, "module", "") != module:
        raise error("DUPLICATE_NAME", name=name, where="the language", fix="register it under another name")
    return name if module.split(".")[0] == "presage" else ExtensionName(name, module)


def load_extensions() -> None:
    """Imports the modules that the environment names, as in PRESAGE_EXTENSIONS=market_extension,other.module."""
    for module in filter(None, os.environ.get("PRESAGE_EXTENSIONS", "").split(",")):
        importlib.import_module(module.strip())
