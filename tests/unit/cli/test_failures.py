"""What users see when something goes wrong that is not in their text."""

from __future__ import annotations

import errno
import json
import warnings

import pytest

from presage.cli.failures import reported
from presage.errors import PresageWarning, error, warning


class Py4JJavaError(Exception):
    """Stands for Spark's exceptions, which are known by their module."""


Py4JJavaError.__module__ = "py4j.protocol"

JAVA = """An error occurred while calling o71.showString.
: org.apache.spark.SparkException: Job aborted
\tat org.apache.spark.Foo.bar(Foo.scala:12)"""
WORKER = """Job aborted due to stage failure: Traceback (most recent call last):
  File "kernels.py", line 5, in work
presage.errors.DataError: error[ARITHMETIC_OVERFLOW]: sum(n) exceeds the range of LONG
  fix: cast it to DOUBLE
"""
BROKEN = """An exception was thrown from the Python worker. Traceback (most recent call last):
  File "kernels.py", line 5, in work
ValueError: this should not be
"""


def message(problem: BaseException, capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as end, reported():
        raise problem
    assert end.value.code == code
    return capsys.readouterr().err


def test_an_exception_of_java_is_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(Py4JJavaError(JAVA), capsys)
    assert said.startswith("error[JOB_FAILED]: Spark could not finish the job: An error occurred while calling")
    assert "Foo.scala" not in said


def test_an_error_of_a_kernel_comes_back_as_it_was_raised(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(Py4JJavaError(WORKER), capsys)
    assert said == "error[ARITHMETIC_OVERFLOW]: sum(n) exceeds the range of LONG\n  fix: cast it to DOUBLE\n"


def test_an_exception_in_a_worker_is_our_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(Py4JJavaError(BROKEN), capsys)
    assert said.startswith("error[INTERNAL]: internal error: ValueError: this should not be")


def test_a_full_disk_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    said = message(OSError(errno.ENOSPC, "No space left on device", "part-1.parquet"), capsys)
    assert "error[FILE_UNREADABLE]: the file 'part-1.parquet' cannot be read: No space left on device" in said


def test_others_found_in_the_same_run_are_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    problem = error("UNKNOWN_STREAM", name="A")
    problem.others = (error("UNKNOWN_STREAM", name="B"),)
    said = message(problem, capsys)
    assert said.count("error[UNKNOWN_STREAM]") == 2


def test_work_that_goes_well_ends_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with reported():
        pass
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_warning_that_python_carries_looks_like_the_others(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with reported(as_json):
        warnings.warn(PresageWarning(warning("KERNELS_NOT_KEPT", why="/home/x: Read-only file system")), stacklevel=1)
    said = capsys.readouterr().err
    if as_json:
        assert json.loads(said)["code"] == "KERNELS_NOT_KEPT"
    else:
        assert said.startswith("warning[KERNELS_NOT_KEPT]: compiled kernels cannot be kept")
        assert said.splitlines()[1].startswith("  fix: set NUMBA_CACHE_DIR")


def test_warnings_of_others_stay_as_they_are() -> None:
    with pytest.warns(UserWarning, match="of a library"), reported():
        warnings.warn("of a library", stacklevel=1)
