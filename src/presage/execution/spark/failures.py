"""Translation of Spark's exceptions: a kernel's own error is raised again, others become one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from presage.errors import CONDITIONS, PresageError, error

# A kernel's own error in the text of a worker's traceback.
_FROM_WORKER = re.compile(r"presage\.errors\.\w+: error\[(\w+)\]: (.*)(?:\n {2}fix: (.*))?")
# A module that a worker cannot import, and PySpark's error for a worker without Arrow.
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'|PACKAGE_NOT_INSTALLED\] (\w+)")
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
# Spark's texts for a job that was interrupted, or whose session is gone.
_ENDED = ("InterruptedException", "ClosedByInterruptException", "stopped SparkContext", "SparkContext was shut down")


def is_of_spark(failure: BaseException) -> bool:
    # By the module's name: does not import PySpark.
    return type(failure).__module__.split(".")[0] in ("pyspark", "py4j")


def is_interrupted(failure: BaseException) -> bool:
    """Whether the job was interrupted, or its session ended: it can be retried as it is."""
    lost = type(failure).__name__ in ("Py4JNetworkError", "ConnectionRefusedError")
    return is_of_spark(failure) and (lost or any(text in str(failure) for text in _ENDED))


def _is_too_deep(failure: BaseException) -> bool:
    """Spark Connect limits the nesting of messages to 100; each level of an expression takes several."""
    return type(failure).__name__ == "DecodeError" and "MaxDepth" in str(failure)


def explain_failure(failure: BaseException) -> PresageError:
    """The error for an exception that Spark raised."""
    text = str(failure).strip() or type(failure).__name__
    ours = _FROM_WORKER.search(text)
    if ours is not None and ours[1] in CONDITIONS:
        return CONDITIONS[ours[1]].kind(ours[1], ours[2], ours[3] or "")
    missing = _MISSING.search(text)
    if missing is not None:
        module = (missing[1] or missing[2]).split(".")[0]
        what = "the wheel of Presage" if module == "presage" else f"the package {module}, as the driver has it"
        return error("NOT_ON_WORKERS", module=module, what=what)
    if "Traceback (most recent call last)" in text:
        raised = _RAISED.findall(text[text.index("Traceback") :])
        if raised:
            return error("INTERNAL", what=": ".join(raised[-1]))
    return error("JOB_FAILED", what=first_line(text))


@contextmanager
def explained() -> Iterator[None]:
    """Raises exceptions of Spark as errors of Presage, with Spark's as the cause."""
    try:
        yield
    except Exception as failure:
        if _is_too_deep(failure):
            what, fix = "an expression nested as deeply", "break it up with INSERT INTO, or pass a classic session"
            raise error("UNSUPPORTED", what=what, where="over Spark Connect", fix=fix) from failure
        if isinstance(failure, PresageError) or not is_of_spark(failure):
            raise
        raise explain_failure(failure) from failure


def first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(":") if lines else "no message"
