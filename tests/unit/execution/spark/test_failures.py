"""What Spark raises: in our words, and told apart, jobs that somebody ended from those that failed."""

from __future__ import annotations

import pytest

from presage.execution.spark.failures import explain_failure, is_interrupted

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


def of_spark(text: str, name: str = "Py4JJavaError") -> Exception:
    return type(name, (Exception,), {"__module__": "py4j.protocol"})(text)


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred.\n: java.nio.channels.ClosedByInterruptException\n\tat java.base",
        "java.lang.InterruptedException",
        "Cannot call methods on a stopped SparkContext.",
    ],
)
def test_a_job_whose_thread_or_session_was_ended_may_be_tried_again(text: str) -> None:
    assert is_interrupted(of_spark(text))
    assert not is_interrupted(ValueError(text)), "only Spark says so"


def test_a_lost_connection_to_the_session_is_no_mistake_of_the_statement() -> None:
    assert is_interrupted(of_spark("", "Py4JNetworkError"))


def test_a_job_that_failed_by_itself_has_failed() -> None:
    assert not is_interrupted(of_spark("[DIVIDE_BY_ZERO] Division by zero."))
