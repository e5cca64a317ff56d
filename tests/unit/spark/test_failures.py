"""What Spark says when a job fails, in our words."""

from __future__ import annotations

import pytest

from presage.spark.failures import explain_failure

TRACE = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
{raised}
"""


@pytest.mark.parametrize(
    ("raised", "module", "what"),
    [
        ("ModuleNotFoundError: No module named 'presage'", "presage", "the wheel of Presage"),
        ("ModuleNotFoundError: No module named 'numba.core'", "numba", "the package numba, as the driver has it"),
    ],
)
def test_a_package_that_workers_lack_is_named_with_what_to_do(raised: str, module: str, what: str) -> None:
    problem = explain_failure(Exception(TRACE.format(raised=raised)))
    assert problem.code == "NOT_ON_WORKERS"
    assert problem.message == f"Spark's workers cannot import {module}"
    assert what in problem.fix


def test_a_kernels_own_error_comes_back_as_itself() -> None:
    raised = "presage.errors.DataError: error[ARITHMETIC_OVERFLOW]: sum passes the range of LONG\n  fix: cast it"
    problem = explain_failure(Exception(TRACE.format(raised=raised)))
    assert (problem.code, problem.fix) == ("ARITHMETIC_OVERFLOW", "cast it")
