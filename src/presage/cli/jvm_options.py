"""The options of a JVM that fits what a command will read. It is launched when a statement needs Spark, if one does."""

from __future__ import annotations

from pathlib import Path

from presage.cli.events import EventFile
from presage.cli.script import check_script
from presage.cli.text import name_of, read_text
from presage.execution.spark.jvm import SMALL, launch_when_needed

# Below this a second compiler costs more than it brings. Kept well under a second of Spark's work.
SMALL_BYTES = 16_000_000


def read_checked(file: str, files: list[EventFile], home: Path | None, debug: bool) -> str:
    """The text of a file of statements; without a home, its errors are reported before any library is loaded."""
    text = read_text(file)
    prepare_jvm(files, home, debug)
    if home is None:
        check_script(text, name_of(file))
    return text


def prepare_jvm(files: list[EventFile], home: Path | None, debug: bool) -> None:
    paths = [file.path for file in files] + ([home] if home is not None else [])
    launch_when_needed(SMALL if _are_small(paths) else "", quiet=not debug)


def _are_small(paths: list[Path]) -> bool:
    left = SMALL_BYTES
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            left -= file.stat().st_size if file.is_file() else 0
            if left < 0:
                return False
    return True
