"""The examples of every capability run where there is neither PySpark nor Java, and print what their pages say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each with deployed statements beside bounded queries.
PAGES = sorted((ROOT / "docs" / "capabilities").glob("*.md"))
PROGRAM = """
import contextlib, io, sys
from pathlib import Path

sys.modules["pyspark"] = None  # it cannot be imported
from spark.test_documentation import blocks_of, words, write_files

page = Path(sys.argv[1])
write_files(page, Path())
blocks, namespace, compared = blocks_of(page), {"__name__": "page"}, 0
for block, after in zip(blocks, [*blocks[1:], None]):
    if block.kind == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block.body, namespace)
        if after is not None and after.kind == "text":
            assert words(printed.getvalue()) == words(after.body), (after.line, printed.getvalue())
            compared += 1
for each in namespace.values():
    if type(each).__name__ == "Engine":
        each.close()
assert compared, "a page of a capability shows rows"
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_capability_need_neither_spark_nor_java(page: Path, tmp_path: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment = inherited | {"PATH": "/nowhere", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(page)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
