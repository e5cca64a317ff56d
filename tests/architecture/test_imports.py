"""Who may import whom: the contracts of pyproject.toml, and the exact list for kernels."""

from __future__ import annotations

import ast
import logging
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "presage"
KERNEL_FILES = sorted([*PACKAGE.glob("operators/*/kernel/**/*.py"), *PACKAGE.glob("arrays/**/*.py")])
KERNEL_LIBRARIES = {"numpy", "numba", "llvmlite", "pyarrow"} | sys.stdlib_module_names
KERNEL_MODULES = {
    "presage.model.operator_state",
    "presage.model.calendar",
    "presage.errors",
}
# Tables whose entries import data libraries on demand.
KERNEL_TABLES = (
    "presage.functions.aggregates",
    "presage.operators.windows.window_types",
)  # whose entries import on demand


def imported_modules(path: Path) -> Iterator[str]:
    """Full names of what a file imports, wherever in the file; of `from a import b` both a.b and a."""
    package = path.relative_to(ROOT / "src").with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if (ROOT / "src" / module.replace(".", "/")).is_dir():
                yield from (f"{module}.{name.name}" for name in node.names)
            else:
                yield module


def test_the_contracts_of_import_linter_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    # It sets up logging for a process of its own, in which the loggers of others are off.
    known = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [logger.disabled for logger in known]
    try:
        result = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    finally:
        for logger, disabled in zip(known, before, strict=True):
            logger.disabled = disabled
    assert result == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_kernel_imports_only_numbers_and_its_own_folder(path: Path) -> None:
    own = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts[: 2 if "arrays" in path.parts else 4])
    foreign = [
        name
        for name in imported_modules(path)
        if name.split(".")[0] not in KERNEL_LIBRARIES
        and name not in KERNEL_MODULES
        and name != own
        and not name.startswith(("presage.arrays", *KERNEL_TABLES))
        and not name.startswith(own + ".")
    ]
    assert foreign == []


def test_there_are_kernels_to_check() -> None:
    assert KERNEL_FILES


def test_reading_and_checking_a_query_loads_no_data_library() -> None:
    # `presage check` answers in under half a second; each of these alone costs a good part of that.
    code = (
        "import sys, presage, presage.lang, presage.analyze, presage.plan, presage.errors\n"
        "print(*({'pyspark', 'pyarrow', 'pandas', 'numpy', 'numba', 'deltalake'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


OUTSIDE = sorted(path for folder in ("benchmarks", "examples", "scripts") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_programs_outside_of_the_package_import_of_it_exists(path: Path) -> None:
    imported = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom))
    ours = [(node.module, alias.name) for node in imported for alias in node.names if _is_ours(node.module)]
    assert [(module, name) for module, name in ours if not _has(str(module), name)] == []


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == "presage"


def _has(module: str, name: str) -> bool:
    return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
