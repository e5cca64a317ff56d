"""What happens in, log records with structured fields out; and on request one JSON object a line on stderr.

All records go to the logger "presage". Their message is for people; `code` is for programs and stays the same from
version to version, and so do the fields. As a library Presage sets up nothing: Python's own default shows warnings. The
variable PRESAGE_LOG (`json` or `text`), `presage run --log` or `log_to` let everything from `info` on be seen.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from presage.errors import error
from presage.model.redaction import masked

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR
VARIABLE, LEVEL_VARIABLE = "PRESAGE_LOG", "PRESAGE_LOG_LEVEL"
FORMATS = ("json", "text")
LEVELS = ("debug", "info", "warning", "error")
# What happens, by code. docs/guide/operations.md has the same list; a test compares them.
CODES = (
    "ENGINE_OPENED",
    "ENGINE_CLOSED",
    "SPARK_STARTING",
    "STATEMENT_DEPLOYED",
    "STATEMENT_STOPPED",
    "STATEMENT_FAILED",
    "STATEMENT_FINISHED",
    "STATEMENT_REBUILT",
    "STATEMENT_RESUMED",
    "STATEMENTS_APART",
    "STOPPED_EARLY",
    "QUERY_WARNING",
    "BATCH",
    "BATCH_FAILED",
    "BATCH_ON_DRIVER",
    "CATCH_UP_FAILED",
    "QUERY_ENDED",
    "SUBSCRIBER_FAILED",
    "SOURCE_STATE",
    "SOURCE_NOTE",
    "SOURCE_FAILED",
    "SPOOL_FAILED",
    "SINK_STATE",
    "SINK_SKIPPED",
    "SINK_FAILED",
    "REQUEST_FAILED",
    "MAINTENANCE",
    "UPKEEP_FAILED",
)

_LOGGER = logging.getLogger("presage")
_FIELDS = "presage_fields"


def enabled(level: int) -> bool:
    """Whether anybody would see a record of that level: for those that cost something to make."""
    return _LOGGER.isEnabledFor(level)


def tell(level: int, code: str, text: str, *, failure: BaseException | None = None, **fields: Any) -> None:
    """Log what has happened. `text` is a format string over the fields; `failure` adds its traceback."""
    if _LOGGER.isEnabledFor(level):
        extra = {"code": code, _FIELDS: fields}
        # As an argument: a message that holds a percent sign is none.
        _LOGGER.log(level, "%s", masked(text.format(**fields)), extra=extra, exc_info=failure, stacklevel=2)


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, code, message, then the fields that it has."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content: dict[str, Any] = {
            "time": when.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "code": getattr(record, "code", None),
            "message": record.getMessage(),
            **{name: _plain(value) for name, value in getattr(record, _FIELDS, {}).items()},
        }
        if record.exc_info and record.exc_info[0] is not None:
            content["traceback"] = self.formatException(record.exc_info)
        return masked(json.dumps(content, ensure_ascii=False, default=str))


class TextLines(logging.Formatter):
    """A record for people: time, level, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


def log_to(format: str = "json", level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Let records of Presage be written, to stderr if no stream is named. A second call replaces the first."""
    for what, found, known in (("the format of logs", format, FORMATS), ("the level of logs", level, LEVELS)):
        if found not in known:
            raise error("BAD_VALUE", what=what, found=f"'{found}'", expected=f"one of {', '.join(known)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    stop()
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(level.upper())
    _LOGGER.propagate = False  # else a root logger of the program's own would write each of them again
    _ours.append(handler)
    return handler


def stop() -> None:
    """Write no more of what `log_to` has asked for."""
    while _ours:
        _LOGGER.removeHandler(_ours.pop())
        _LOGGER.propagate = True
        _LOGGER.setLevel(logging.NOTSET)


def log_as_environment_says() -> bool:
    """Do what PRESAGE_LOG and PRESAGE_LOG_LEVEL say, unless the program has asked for logs itself; whether there are
    logs."""
    wanted = os.environ.get(VARIABLE, "").lower()
    if wanted and not _ours:
        log_to(wanted, os.environ.get(LEVEL_VARIABLE, "info").lower())
    return bool(_ours)


_ours: list[logging.Handler] = []


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
