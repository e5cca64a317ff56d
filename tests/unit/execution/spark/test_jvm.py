"""Starting Spark's JVM ahead of PySpark: with a program in its place that says what the JVM would say."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.execution.spark import jvm


def started(folder: Path, code: str) -> jvm.Jvm:
    with open(folder / "messages", "wb") as messages:
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=messages)
    return jvm.Jvm(process, folder)


def finish(started: jvm.Jvm) -> None:
    assert started.process.stdin is not None
    started.process.stdin.close()
    started.process.wait()


def test_pyspark_is_told_where_the_jvm_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (jvm.PORT, jvm.SECRET):
        monkeypatch.setenv(name, "")  # so that it is as before, afterwards
    content = struct.pack(">ii", 25333, 6) + b"secret"
    code = f"import sys, os; open('part', 'wb').write({content!r}); os.rename('part', 'connection'); sys.stdin.read()"
    one = started(tmp_path, f"import os; os.chdir({str(tmp_path)!r}); {code}")
    one.connect()
    assert (os.environ[jvm.PORT], os.environ[jvm.SECRET]) == ("25333", "secret")
    one.connected()
    assert jvm.PORT not in os.environ
    assert not tmp_path.exists()
    finish(one)


def test_a_jvm_that_does_not_come_up_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    one = started(tmp_path, "import sys; print('Error: could not reserve memory', file=sys.stderr); sys.exit(1)")
    with pytest.raises(PresageError, match="Spark could not be started: Error: could not reserve memory"):
        one.connect()
    finish(one)


def test_a_jvm_that_nobody_needs_ends_at_once(tmp_path: Path) -> None:
    one = started(tmp_path, "import sys; sys.stdin.read()")
    start = time.monotonic()
    one.abandon()
    with pytest.raises(PresageError):
        one.connect()
    finish(one)
    assert time.monotonic() - start < 10
    assert not tmp_path.exists()
