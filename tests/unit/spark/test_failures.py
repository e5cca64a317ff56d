"""What Spark raises, told apart: jobs that somebody ended, and jobs that failed."""

from __future__ import annotations

import pytest

from presage.spark.failures import is_interrupted


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
