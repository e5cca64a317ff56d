"""The capabilities: one folder each, found by name and by the modules that they have.

A capability registers with its name in `NAMES`. What it brings, each in a module of that name:
- `analyze`: the items of FROM and the words that it binds (`ITEMS`, see `select.extensions`); the package itself names
  the methods of `ITEMS` (`BINDS`);
- `warnings`: checks of statements for what is well-formed and may not be meant (`WARNINGS`, see `select.warnings`);
- `declare`: the objects that it declares (`DECLARATIONS`, see `declarations.extension`);
- `stages`: how its nodes run (`OPERATOR`, see `execution.stage`);
- `rules`: its optimizer rules (`RULES`);
- `explain`: what EXPLAIN says of its nodes (`DESCRIBE`);
- `why_not`: why an event made no row (`WHY_NOT`, `CONDITIONS`);
- `draw`: pictures of its nodes (`DRAW`).

Modules are imported when they are asked for: checking a statement loads no data library, and a query loads the kernels
of its own operators. Nodes of plans are defined in the folder of their capability: by it, their operator is found.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from presage.plan.nodes import Node

NAMES = ("windows", "epl", "match", "sequence", "prediction", "recall", "knowledge")

_FOLDER = __name__.rpartition(".")[0]


@cache
def parts(module: str) -> dict[str, ModuleType]:
    """The modules of that name, by capability; not every capability has one."""
    return {name: found for name in NAMES if (found := part(name, module)) is not None}


@cache
def part(name: str, module: str) -> ModuleType | None:
    """The module of that name of one capability; None if it has none."""
    path = f"{_FOLDER}.{name}.{module}"
    return import_module(path) if find_spec(path) is not None else None


@cache
def binders() -> dict[str, str]:
    """By method of `Extensions`: the capability whose `ITEMS` has it."""
    packages = {name: import_module(f"{_FOLDER}.{name}") for name in NAMES}
    return {method: name for name, package in packages.items() for method in getattr(package, "BINDS", ())}


def capability_of(kind: type[object]) -> str | None:
    """The capability whose folder defines a type; None if there is none."""
    return _capability_of(kind.__module__)


@cache
def _capability_of(module: str) -> str | None:
    folder, _, rest = module.removeprefix(f"{_FOLDER}.").partition(".")
    return folder if folder in NAMES and rest else None


def capabilities_in(plan: Node) -> list[str]:
    """The capabilities that define nodes of a plan."""
    found = {capability_of(type(node)) for node in plan.walk()}
    return [name for name in NAMES if name in found]
